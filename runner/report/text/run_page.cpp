#include "report/text/run_page.h"

#include <algorithm>
#include <ctime>
#include <functional>
#include <optional>
#include <ostream>
#include <sstream>

#include "base/error.h"
#include "base/own_command.h"
#include "config/text/source.h"
#include "record/run_directory.h"
#include "record/saves/checkpoint_index.h"
#include "record/saves/data_files.h"
#include "report/read/history.h"
#include "report/text/chart.h"
#include "report/text/table.h"
#include "report/text/words.h"

namespace ddp::report {
namespace fs = std::filesystem;
namespace {

constexpr const char* kHead = "class  predicted as";
constexpr std::size_t kWidestName = 24;

// Returns "0 cat" for each class, and kHead as the last; all have the same width.
std::vector<std::string> labels_of(std::size_t classes, const std::vector<std::string>& names) {
  std::vector<std::string> labels;
  std::size_t width = text_width(kHead);
  for (std::size_t i = 0; i < classes; ++i) {
    labels.push_back(std::to_string(i));
    if (names.size() == classes) labels[i] += " " + clipped(config::printable(names[i]), kWidestName, "...");
    width = std::max(width, text_width(labels[i]));
  }
  labels.push_back(kHead);
  for (std::string& label : labels) label += std::string(width - text_width(label), ' ');
  return labels;
}

}  // namespace

std::string in_lines(const std::vector<std::vector<std::int64_t>>& matrix, const std::vector<std::string>& names) {
  std::int64_t greatest = 0;
  for (const auto& row : matrix) greatest = std::max(greatest, *std::max_element(row.begin(), row.end()));
  const std::size_t width = std::to_string(greatest).size();
  const auto cell = [width](std::int64_t number) {
    const std::string digits = std::to_string(number);
    return std::string(width + 2 - std::min(width, digits.size()), ' ') + digits;
  };
  const std::vector<std::string> labels = labels_of(matrix.size(), names);
  std::string text = labels.back();
  for (std::size_t i = 0; i < matrix.size(); ++i) text += cell(static_cast<std::int64_t>(i));
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    text += "\n" + labels[i];
    for (const std::int64_t count : matrix[i]) text += cell(count);
  }
  return text;
}

namespace {

constexpr std::size_t kNarrowCurve = 12;
// Each curve reads a file; longer lists show none.
constexpr std::size_t kRowsWithCurve = 200;

std::string curve_of(const fs::path& folder, std::size_t columns) {
  return sparkline(loss_curve(record::RunDirectory(folder).metrics(), columns));
}

// A column and its cell in the row of one T.
template <class T>
struct Field {
  Column column;
  std::function<std::string(const T&)> cell;
};

template <class T>
ListTable table_of(const std::vector<T>& rows, const std::vector<Field<T>>& fields) {
  ListTable table;
  for (const Field<T>& field : fields) table.columns.push_back(field.column);
  for (const T& row : rows) {
    std::vector<std::string>& cells = table.rows.emplace_back();
    for (const Field<T>& field : fields) cells.push_back(field.cell(row));
  }
  return table;
}

void print_table(ListTable from, std::ostream& out, const Terminal& terminal) {
  Table table(std::move(from.columns));
  for (std::vector<std::string>& cells : from.rows) table.row(std::move(cells));
  table.print(out, terminal);
}

// The labelled facts of a page; further lines of a fact stand under its first line.
class Facts {
 public:
  void add(const std::string& name, const std::string& text) {
    std::istringstream in(text);
    bool first = true;
    for (std::string line; std::getline(in, line); first = false) table_.row({first ? name : "", line});
  }
  // Lines are not cut: a person copies a folder's name as a whole.
  void print(std::ostream& out) const { table_.print(out, {}); }

 private:
  Table table_;
};

std::string since(const View& view) {
  return local_time(view.started) + ", " + age(view.started, std::time(nullptr)) + " ago";
}

std::string resume_command(const View& view) {
  return own_command("resume " + path_word(config::printable(view.folder.string())));
}

void add_tags(Facts& facts, const record::Tags& tags) {
  facts.add("tags", joined(tags.names));
  facts.add("note", tags.note);
}

// "12: 9 completed, 2 at a rung, 1 failed".
std::string trials_in_words(const SweepView& sweep) {
  std::vector<std::string> parts;
  const auto add = [&parts](std::int64_t number, const std::string& what) {
    if (number > 0) parts.push_back(std::to_string(number) + " " + what);
  };
  add(sweep.completed, "completed");
  add(sweep.stopped, "at a rung");
  add(sweep.failed, "failed");
  add(sweep.trials - sweep.completed - sweep.stopped - sweep.failed - sweep.waiting,
      sweep.status == "running" ? "running" : "interrupted");
  add(sweep.waiting, "waiting");
  return std::to_string(sweep.trials) + (parts.empty() ? "" : ": ") + joined(parts);
}

// `name`: the sweep's name, as commands take it.
void print_ranking(const std::string& name, const SweepView& sweep, std::ostream& out, const Terminal& terminal) {
  const bool with_curves = terminal.utf8 && sweep.ranking.size() <= kRowsWithCurve;
  std::vector<Field<TrialView>> fields = {
      {{.header = "place", .right = true}, [](auto& trial) { return trial.place ? std::to_string(*trial.place) : ""; }},
      {{.header = "trial", .keeps_end = true},
       [&](auto& trial) { return name + "/" + trial.folder.filename().string(); }},
      {{.header = sweep.metric.empty() ? "metric" : sweep.metric, .right = true},
       [](auto& trial) { return in_words(trial.metric); }}};
  for (const std::string& parameter : sweep.parameters) {
    fields.push_back({{.header = parameter, .right = true}, [&parameter](const TrialView& trial) {
                        const auto value = trial.parameters.find(parameter);
                        return value == trial.parameters.end() ? "" : in_words(*value);
                      }});
  }
  const std::vector<Field<TrialView>> more = {
      {{.header = "status", .colour = colour_of_status}, [](auto& trial) { return status_in_words(trial); }},
      {{.header = "epochs", .right = true, .spare = 1},
       [](auto& trial) { return trial.epochs > 0 ? std::to_string(trial.epochs) : ""; }},
      {{.header = "time", .right = true, .spare = 2},
       [](auto& trial) { return trial.seconds > 0 ? duration(trial.seconds) : ""; }},
      {{.header = "loss", .spare = 4},
       [&](auto& trial) { return with_curves ? curve_of(trial.folder, kNarrowCurve) : ""; }},
      {{.header = "error", .spare = 3}, [](auto& trial) { return trial.error.substr(0, trial.error.find('\n')); }}};
  fields.insert(fields.end(), more.begin(), more.end());
  print_table(table_of(sweep.ranking, fields), out, terminal);
}

}  // namespace

void print_figures(const record::CrossValidation& cv, std::ostream& out, const Terminal& terminal) {
  using Line = std::pair<std::string, record::CrossValidation::Figure>;
  const std::vector<Line> lines(cv.metrics.begin(), cv.metrics.end());
  const std::vector<Field<Line>> fields = {
      {{.header = "metric"}, [](auto& line) { return line.first; }},
      {{.header = "mean", .right = true}, [](auto& line) { return in_words(line.second.mean); }},
      {{.header = "std", .right = true}, [](auto& line) { return in_words(line.second.std); }},
      {{.header = "n", .right = true}, [](auto& line) { return std::to_string(line.second.n); }},
      {{.header = "95 % from", .right = true}, [](auto& line) { return in_words(line.second.low); }},
      {{.header = "to", .right = true}, [](auto& line) { return in_words(line.second.high); }}};
  print_table(table_of(lines, fields), out, terminal);
}

namespace {

void add_race(Facts& facts, const record::Race& race) {
  const std::string pairs = " after " + std::to_string(race.pairs.size()) + " pairs";
  facts.add("winner", (race.is_undecided() ? "undecided" : race.winner) + pairs);
  const auto end = [](const std::optional<double>& bound) { return bound ? in_words(bound) : "unbounded"; };
  facts.add("A - B", in_words(race.mean) + ", between " + end(race.low) + " and " + end(race.high) + " at alpha " +
                         in_words(race.alpha));
}

void print_pairs(const record::Race& race, std::ostream& out, const Terminal& terminal) {
  using Pair = record::Race::Pair;
  const std::vector<Field<Pair>> fields = {
      {{.header = "seed", .right = true}, [](auto& pair) { return std::to_string(pair.seed); }},
      {{.header = "A", .right = true}, [](auto& pair) { return in_words(pair.a); }},
      {{.header = "B", .right = true}, [](auto& pair) { return in_words(pair.b); }},
      {{.header = "A - B", .right = true}, [](auto& pair) { return in_words(pair.difference); }},
      {{.header = "evidence", .right = true}, [](auto& pair) { return in_words(pair.e); }}};
  print_table(table_of(race.pairs, fields), out, terminal);
}

void print_sweep(const std::string& name, const SweepView& sweep, std::ostream& out, const Terminal& terminal) {
  Facts facts;
  const bool competes = sweep.kind == "sweep";
  facts.add(sweep.kind, name);
  facts.add("status", sweep.status);
  add_tags(facts, sweep.tags);
  if (competes) facts.add("method", sweep.method + " over " + joined(sweep.parameters));
  facts.add("metric", sweep.metric + (sweep.goal == "max" ? ", greatest is best" : ", least is best"));
  if (!competes) {
    const config::Value config = flat(read_config(record::RunDirectory(sweep.folder).sweep()));
    facts.add("values", config.value("checkpoint.keep_best", 1) == 0 ? "of the last epoch"
                                                                     : "of best checkpoints, chosen on the same rows");
  }
  facts.add("started", since(sweep));
  facts.add("time", duration(sweep.seconds));
  if (sweep.race) add_race(facts, *sweep.race);
  if (sweep.kind != "race") facts.add(competes ? "trials" : "runs", trials_in_words(sweep));
  facts.add("train best", sweep.repeat);
  facts.add("folder", config::printable(sweep.folder.string()));
  if (sweep.status == "interrupted") facts.add("resume", resume_command(sweep));
  facts.print(out);
  if (sweep.result) {
    out << "\n";
    print_figures(*sweep.result, out, terminal);
  }
  if (sweep.race) {
    out << "\n";
    print_pairs(*sweep.race, out, terminal);
  }
  if (sweep.ranking.empty() || sweep.race) return;
  out << "\n";
  print_ranking(name, sweep, out, terminal);
}

constexpr std::size_t kWideCurve = 40;
constexpr std::size_t kShownClasses = 10;  // with more classes a matrix is wider than a terminal

struct Saved {
  std::int64_t step = 0;
  fs::path folder;
  bool whole = false;
  bool best = false;
  bool latest = false;
  std::optional<record::SaveReason> reason = {};  // for a complete one

  void fields(config::Fields& f) {
    f({"step"}, step);
    f({"directory"}, config::printable(folder.string()));
    f({"complete"}, whole);
    f({"latest"}, latest);
    f({"best"}, best);
    f({.name = "reason", .doc = "null: the checkpoint is not complete", .choices = {"regular", "best", "time"}},
      reason ? std::optional<std::string>(config::name_of(*reason)) : std::nullopt);
  }
};

// Returns the checkpoints, newest first.
std::vector<Saved> checkpoints_of(const record::RunDirectory& directory) try {
  std::vector<Saved> all;
  const auto whole = record::complete_checkpoints(directory.checkpoints());
  const auto best = record::by_metric(whole);
  std::error_code none;
  const fs::path latest = fs::read_symlink(directory.checkpoints() / "latest", none);
  for (const fs::path& folder : record::checkpoint_folders(directory.checkpoints())) {
    all.push_back({.step = record::step_of(folder),
                   .folder = folder,
                   .whole = std::find(whole.begin(), whole.end(), folder) != whole.end(),
                   .best = !best.empty() && best.front() == folder,
                   .latest = latest == folder.filename()});
    if (all.back().whole) all.back().reason = record::position_of(folder).reason;
  }
  return all;
} catch (const Error&) {  // a damaged checkpoint: `resume` reports it
  return {};
}

std::vector<fs::path> logs_of(const record::RunDirectory& directory) {
  std::vector<fs::path> logs;
  std::error_code error;
  for (fs::directory_iterator log(directory.log(0).parent_path(), error), end; !error && log != end;
       log.increment(error)) {
    logs.push_back(log->path());
  }
  std::sort(logs.begin(), logs.end());
  return logs;
}

// "120 of 400"; "" unless the run trains.
std::string steps_of_all(const RunView& run) {
  return run.seconds_left ? std::to_string(run.steps) + " of " + std::to_string(run.total_steps) : "";
}

std::string trained(const RunView& run) {
  const std::string steps = run.seconds_left ? steps_of_all(run) + " steps" : counted(run.steps, "step");
  std::string text = counted(run.epochs, "epoch") + ", " + steps + " in " + duration(run.seconds);
  const double rate = run.seconds > 0 ? static_cast<double>(run.steps) / run.seconds : 0;
  if (rate > 0) text += ", " + in_words(rate) + " steps/s";
  return run.seconds_left ? text + ", " + duration(*run.seconds_left) + " left" : text;
}

std::string ranks(const RunView& run) {
  std::vector<std::string> devices;
  for (std::size_t i = 0, next = 0; i < run.devices.size(); i = next) {
    const std::string& device = run.devices[i];
    while (next < run.devices.size() && run.devices[next] == device) ++next;
    devices.push_back(device + (next - i > 1 ? " x " + std::to_string(next - i) : ""));
  }
  return std::to_string(run.world_size) + (run.backend.empty() || run.backend == "none" ? "" : " over " + run.backend) +
         (devices.empty() ? "" : ": ") + joined(devices);
}

std::string parameters(const RunView& run) {
  const std::string all = std::to_string(run.parameters);
  return run.frozen_parameters == 0 ? all : all + ", " + std::to_string(run.frozen_parameters) + " of them frozen";
}

std::string versions(const RunView& run) {
  std::vector<std::string> all;
  for (const auto& [name, version] : run.versions) all.push_back(name + " " + version);
  return joined(all);
}

// Returns the names of the classes that the run learns; empty if its data name none.
std::vector<std::string> class_names(const std::vector<Saved>& checkpoints) try {
  const auto newest = std::find_if(checkpoints.begin(), checkpoints.end(), [](const Saved& c) { return c.whole; });
  if (newest == checkpoints.end()) return {};
  const config::Value fitted = record::fitted_to_data(newest->folder);
  return fitted.is_object() ? fitted.value("classes", std::vector<std::string>()) : std::vector<std::string>();
} catch (const std::exception&) {
  return {};
}

std::vector<std::vector<std::int64_t>> confusion_of_best(const RunView& run) try {
  const config::Value evaluation = read_evaluation(run);
  if (evaluation.is_null()) return {};
  return evaluation.at("validation").at("confusion").get<std::vector<std::vector<std::int64_t>>>();
} catch (const std::exception&) {  // `report` names the damage
  return {};
}

void add_metrics(Facts& facts, const RunView& run, const std::vector<Saved>& checkpoints) {
  if (run.validates()) {
    facts.add("best", "by " + run.best->metric + ": epoch " + std::to_string(run.best->epoch) + ", step " +
                          std::to_string(run.best->step));
  }
  const bool is_last = !run.best || !run.last || run.best->step == run.last->step;
  for (const auto& [name, value] : run.figures) {
    const auto last = run.final_metrics.find(name);
    const bool differs = !is_last && last != run.final_metrics.end() && last->second != value;
    facts.add(name, in_words(value) + (differs ? "  (last " + in_words(last->second) + ")" : ""));
  }
  for (auto [name, matrix] : run.matrices) {
    // summary.json has the matrix of the last validation.
    if (!is_last && !name.starts_with(config::kTestPrefix)) matrix = confusion_of_best(run);
    if (!matrix.empty() && matrix.size() <= kShownClasses) facts.add(name, in_lines(matrix, class_names(checkpoints)));
  }
}

void add_history(Facts& facts, const RunView& run, const fs::path& metrics) {
  if (run.restarts > 0) facts.add("restarts", std::to_string(run.restarts));
  try {
    for (const ContinuationPoint& point : continuation_points_of(metrics)) {
      facts.add(point.event == "restart" ? "restarted" : point.origin.empty() ? "resumed" : "forked", in_words(point));
    }
  } catch (const Error& error) {
    facts.add("history", config::printable(error.summary()));
  }
}

// "latest, best": the checkpoint's rank among the others, and the reason for it.
std::string notes_on(const Saved& saved) {
  if (!saved.whole) return saved.latest ? "latest, not complete" : "not complete";
  std::vector<std::string> notes;
  if (saved.latest) notes.push_back("latest");
  if (saved.best) notes.push_back("best");
  if (saved.reason == record::SaveReason::best && !saved.best) notes.push_back("best until then");
  if (saved.reason == record::SaveReason::time) notes.push_back("time");
  return notes.empty() ? "regular" : joined(notes);
}

// Returns the options that a resume needs so that the run does not fail again.
std::string needed_change(const RunView& run) {
  const auto has = [&](const char* text) { return run.error && run.error->what.find(text) != std::string::npos; };
  if (has(record::kNothingCounts)) return " --set on_nan=skip\nwhich skips such a step; unchanged it fails again";
  if (has(record::kDataNotFinite)) {
    return " --data-changed\nwith corrected data, or with --set on_nan=skip; unchanged it fails again";
  }
  return has(record::kLossNotFinite)
             ? " --set optimizer.lr=…\nwith a smaller lr, or with --set on_nan=skip; unchanged it fails again"
             : "";
}

void print_run(const std::string& name, const RunView& run, std::ostream& out, const Terminal& terminal) {
  const record::RunDirectory directory(run.folder);
  Facts facts;
  facts.add("run", name);
  facts.add("status", status_in_words(run));
  facts.add("stuck", run.stuck);
  add_tags(facts, run.tags);
  if (run.error) {
    facts.add("error",
              (run.error->rank >= 0 ? "rank " + std::to_string(run.error->rank) + ": " : "") + run.error->what);
  }
  facts.add("started", since(run) + (run.ended ? "; ended " + local_time(*run.ended) : ""));
  facts.add("trained", trained(run));
  const std::string loss = in_words(run.loss);
  facts.add("loss", loss + (loss.empty() || !terminal.utf8 ? "" : "  ") +
                        (terminal.utf8 ? curve_of(run.folder, kWideCurve) : ""));
  const std::vector<Saved> checkpoints = checkpoints_of(directory);
  add_metrics(facts, run, checkpoints);
  if (run.parameters > 0) facts.add("weights", parameters(run));
  facts.add("ranks", ranks(run));
  facts.add("versions", versions(run));
  facts.add("git", run.commit + (run.dirty ? ", with changes" : ""));
  add_history(facts, run, directory.metrics());
  facts.add("folder", config::printable(run.folder.string()));
  for (const Saved& saved : checkpoints) {
    facts.add("checkpoint", config::printable(saved.folder.string()) + "  (" + notes_on(saved) + ")");
  }
  for (const fs::path& log : logs_of(directory)) facts.add("log", config::printable(log.string()));
  if (run.status == "interrupted" || run.status == "failed") {
    const bool any = std::any_of(checkpoints.begin(), checkpoints.end(), [](const Saved& c) { return c.whole; });
    facts.add("resume",
              resume_command(run) + needed_change(run) + (any ? "" : "\nno checkpoint yet: resume starts over"));
  }
  facts.print(out);
}

}  // namespace

void print_page(const Row& row, std::ostream& out, const Terminal& terminal) {
  if (const RunView* run = row.as_run()) {
    print_run(row.run, *run, out, terminal);
  } else {
    print_sweep(row.run, *row.as_sweep(), out, terminal);
  }
}

namespace {

struct PageOfRun {
  Named<RunView> run = {};
  std::optional<std::vector<ContinuationPoint>> history = std::vector<ContinuationPoint>();
  std::vector<Saved> checkpoints = {};
  std::vector<std::string> logs = {};

  void fields(config::Fields& f) {
    f.version();
    run.fields(f);
    f({"parameters", "number of the model's parameters; 0: unknown"}, run.view.parameters);
    f({"frozen_parameters", "frozen ones of `parameters`"}, run.view.frozen_parameters);
    f({"history", "restarts, resumes, and the start of a fork; null: metrics.jsonl cannot be read"}, history);
    f({"checkpoints"}, checkpoints);
    f({"logs"}, logs);
  }
};

struct PageOfSweep {
  Named<SweepView> sweep;

  void fields(config::Fields& f) {
    f.version();
    sweep.fields(f);
    sweep.view.list_ranking(f);
  }
};

config::Value run_page(const Row& row) {
  const record::RunDirectory directory(row.view().folder);
  PageOfRun page{.run = {.run = row.run, .view = *row.as_run()}, .checkpoints = checkpoints_of(directory)};
  try {
    page.history = continuation_points_of(directory.metrics());
  } catch (const Error&) {
    page.history = {};
  }
  for (const fs::path& log : logs_of(directory)) page.logs.push_back(config::printable(log.string()));
  return config::written(page);
}

}  // namespace

config::Value show_schema() { return config::output_schema<std::variant<PageOfRun, PageOfSweep>>("show RUN --json"); }

void print_page_as_json(const Row& row, std::ostream& out) {
  print_json(row.as_run() ? run_page(row) : config::written(PageOfSweep{{.run = row.run, .view = *row.as_sweep()}}),
             out);
}

namespace {

// Returns the progress: finished epochs, or finished trials.
std::string progress_of(const Row& row) {
  if (const RunView* run = row.as_run()) return std::to_string(run->epochs);
  const SweepView& sweep = *row.as_sweep();
  if (sweep.race) return "race, " + counted(static_cast<std::int64_t>(sweep.race->pairs.size()), "pair");
  const auto done = sweep.completed + sweep.stopped + sweep.failed;
  return sweep.kind + " " + std::to_string(done) + "/" + std::to_string(sweep.trials);
}

// "± 0.01" of a cross-validation.
std::string spread_in_words(const Row& row, const std::string& metric) {
  const SweepView* sweep = row.as_sweep();
  if (!sweep || !sweep->result) return "";
  const auto found = sweep->result->metrics.find(metric);
  return found == sweep->result->metrics.end() || !found->second.std ? "" : " ± " + in_words(found->second.std);
}

// Returns the sweep to which all of these trials belong, "name/run-id"; "" if there is no such sweep.
std::string sweep_of(const std::vector<Row>& rows) {
  if (rows.empty() || !record::RunDirectory(rows.front().view().folder).is_trial()) return "";
  const fs::path holder = fs::path(rows.front().run).parent_path();
  const std::string begin = holder.string() + "/";
  const std::size_t end = holder.parent_path().string().size();
  const auto is_other = [&](const Row& row) {
    return row.run.rfind('/') + 1 != begin.size() || !row.run.starts_with(begin);
  };
  return std::any_of(rows.begin(), rows.end(), is_other) ? "" : begin.substr(0, end);
}

}  // namespace

ListTable list_table(const std::vector<Row>& rows, bool with_curves) {
  const std::string sweep = sweep_of(rows);
  with_curves = with_curves && rows.size() <= kRowsWithCurve;
  const std::time_t now = std::time(nullptr);
  std::vector<Field<Row>> fields = {
      {{.header = sweep.empty() ? "run" : "trial", .keeps_end = !sweep.empty()},
       [&](auto& row) { return sweep.empty() ? row.run : sweep + row.run.substr(row.run.rfind('/')); }},
      {{.header = "status", .colour = colour_of_status},
       [](auto& row) { return row.as_run() ? status_in_words(*row.as_run()) : row.view().status; }},
      {{.header = "epochs", .right = true}, progress_of},
      {{.header = "steps", .right = true}, [](auto& row) { return row.as_run() ? steps_of_all(*row.as_run()) : ""; }},
      {{.header = "left", .right = true},
       [](auto& row) {
         return row.as_run() && row.as_run()->seconds_left ? duration(*row.as_run()->seconds_left) : "";
       }},
      {{.header = "step loss", .right = true},
       [](auto& row) { return row.as_run() ? in_words(row.as_run()->loss) : ""; }}};
  for (const std::string& name : metrics_of(rows)) {
    const int spare = name == "val_loss" ? 0 : name == "train_loss" ? 1 : 3;
    fields.push_back({{.header = name, .right = true, .spare = spare},
                      [name](const Row& row) { return in_words(metric_of(row, name)) + spread_in_words(row, name); }});
  }
  const std::vector<Field<Row>> more = {
      {{.header = "time", .right = true, .spare = 4}, [](auto& row) { return duration(row.view().seconds); }},
      {{.header = "size", .right = true}, [](auto& row) { return row.size ? bytes_in_words(*row.size) : ""; }},
      {{.header = "age", .right = true, .spare = 2}, [&](auto& row) { return age(row.view().started, now); }},
      {{.header = "tags", .spare = 2}, [](auto& row) { return joined(row.view().tags.names, " "); }},
      {{.header = "loss", .spare = 5},
       [&](auto& row) { return with_curves && row.as_run() ? curve_of(row.view().folder, kNarrowCurve) : ""; }}};
  fields.insert(fields.end(), more.begin(), more.end());
  return table_of(rows, fields);
}

void print_list(const std::vector<Row>& rows, std::ostream& out, const Terminal& terminal,
                const std::vector<std::string>& columns) {
  if (columns.empty()) return print_table(list_table(rows, terminal.utf8), out, terminal);
  std::vector<Column> heads{{.header = "run"}};
  for (const std::string& key : columns) heads.push_back({.header = key, .right = true});
  Table table(heads);
  for (const Row& row : rows) {
    std::vector<std::string> cells{row.run};
    for (const std::string& key : columns) {
      const config::Value value = value_of(row, key);
      cells.push_back(value.is_null() ? "-" : value.is_number() ? in_words(value.get<double>()) : in_words(value));
    }
    table.row(std::move(cells));
  }
  table.print(out, terminal);
}

namespace {

struct ListOutput {
  std::vector<ListedRow> runs;

  void fields(config::Fields& f) {
    f.version();
    f({"runs", "runs and sweeps"}, runs);
  }
};

}  // namespace

config::Value list_schema() { return config::output_schema<ListOutput>("list --json"); }

void print_list_as_json(const std::vector<Row>& rows, std::ostream& out) {
  ListOutput all;
  for (const Row& row : rows) all.runs.push_back(listed(row));
  print_json(config::written(all), out);
}

}  // namespace ddp::report
