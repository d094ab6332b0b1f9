#include "report/html/page.h"

#include <algorithm>
#include <ctime>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/embedded.h"
#include "base/error.h"
#include "base/student.h"
#include "config/components.h"
#include "config/experiment.h"
#include "config/text/json_text.h"
#include "config/text/source.h"
#include "record/file/atomic_file.h"
#include "record/file/input_file.h"
#include "record/run_directory.h"
#include "record/saves/checkpoint_index.h"
#include "record/summary.h"
#include "report/read/history.h"
#include "report/read/summary_view.h"
#include "report/select/row.h"

namespace ddp::report {
namespace fs = std::filesystem;
namespace {

using config::Value;

constexpr std::size_t kMostRuns = 64;
constexpr std::size_t kMostTrials = 200;

// Keeps the page below 2 MB, even with 200 trials.
std::size_t points_for(std::size_t runs) {
  return std::clamp<std::size_t>(10000 / std::max<std::size_t>(1, runs), 50, 1200);
}

// Unreadable things that were skipped.
using Problems = std::vector<std::string>;

void note(Problems& problems, const fs::path& where, const std::string& what) {
  problems.push_back(config::printable(where.string() + ": " + what));
}

Value flat_config(Problems& problems, const fs::path& file) try {
  return flat(read_config(file));
} catch (const Error& error) {
  note(problems, file, error.summary());
  return Value::object();
}

History history_of(Problems& problems, const fs::path& metrics, std::size_t most_points, Histories& histories) try {
  HistoryReader& reader = histories.try_emplace(metrics, metrics, most_points).first->second;
  if (reader.most_points() != most_points) reader = HistoryReader(metrics, most_points);
  History history = reader.read();
  const std::int64_t lost = history.passed_over;
  if (lost > 0) note(problems, metrics, std::to_string(lost) + (lost == 1 ? " line is" : " lines are") + " damaged");
  return history;
} catch (const Error& error) {
  note(problems, metrics, error.summary());
  return History(most_points);
}

void list_view(config::Fields& f, View& view) {
  const auto moment = [](const std::optional<std::time_t>& time) {
    return time ? std::optional(record::timestamp(*time)) : std::nullopt;
  };
  f({"name"}, view.name);
  f({"run_id"}, view.run_id);
  f({"folder"}, view.folder.string());
  f({.name = "status", .choices = {"running", "completed", "failed", "interrupted", "unknown"}}, view.status);
  f({.name = "started", .pattern = record::kTimestampPattern},
    moment(view.started > 0 ? std::optional(view.started) : std::nullopt));
  f({.name = "ended", .pattern = record::kTimestampPattern}, moment(view.ended));
  f({"seconds"}, view.seconds);
  view.tags.fields(f);
}

struct ReportedRun {
  RunView view = {};

  void fields(config::Fields& f) {
    list_view(f, view);
    view.list_facts(f);
    f({"git", "commit, followed by + if files differed from it"}, view.commit + (view.dirty ? "+" : ""));
  }
};

constexpr std::uint64_t kLargestHeader = 16 << 20;

Value evaluation_of(Problems& problems, const RunView& run) try {
  return read_evaluation(run);
} catch (const Error& error) {
  note(problems, error.where(), error.summary());
  return {};
}

// The names and shapes of the tensors of a run's newest checkpoint, from the head of its safetensors file: 8 bytes with
// the length of the JSON that follows.
Value layers_of(const fs::path& run) try {
  const std::vector<fs::path> checkpoints = record::complete_checkpoints(record::RunDirectory(run).checkpoints());
  if (checkpoints.empty()) return Value::array();
  const record::InputFile file(checkpoints.front() / "model.safetensors");
  std::uint64_t length = 0;
  file.read(0, reinterpret_cast<char*>(&length), sizeof length);
  if (length > kLargestHeader) return Value::array();
  std::string header(length, '\0');
  file.read(sizeof length, header.data(), header.size());
  Value layers = Value::array();
  const Value tensors = config::parse_value(header);
  for (const auto& [name, tensor] : tensors.items()) {
    if (tensor.contains("shape")) layers.push_back({{"name", config::printable(name)}, {"shape", tensor["shape"]}});
  }
  return layers;
} catch (const std::exception&) {  // a damaged checkpoint: `resume` reports it
  return Value::array();
}

// Returns the keys whose value is not the default, of the experiment or of the component that the section names.
std::vector<std::string> changed_keys(const Value& config) {
  static const Value defaults = flat(config::write(config::Experiment{}));
  static const config::Components components = config::Components::installed();
  std::vector<std::string> changed;
  for (const auto& [key, value] : config.items()) {
    const std::size_t dot = key.find('.');
    const std::string section = key.substr(0, dot);
    const config::Spec* const spec = components.find(section, config.value(section + ".name", ""));
    Value by_default = defaults.value(key, Value());
    for (std::size_t i = 0; spec && i < spec->options.size(); ++i) {
      if (section + "." + spec->options[i].name == key) by_default = spec->options[i].default_value;
    }
    if (value != by_default) changed.push_back(key);
  }
  return changed;
}

// A run with its curves.
struct RunOnPage {
  ReportedRun run = {};
  Value config = Value::object();
  std::vector<std::string> changed = {};
  Value evaluation = {};
  Value layers = Value::array();
  History history = {};
  std::string label = {};

  std::string name() const { return run.view.name + "/" + run.view.run_id; }
  void fields(config::Fields& f) {
    run.fields(f);
    f({.name = "config", .types = {config::Type::table}}, config);
    f({"changed", "its keys whose value is not the default"}, changed);
    f({"evaluation", "evaluation.json; null: none of the best checkpoint"}, evaluation, {{"type", {"object", "null"}}});
    f({.name = "layers", .doc = "names and shapes of the model's tensors", .types = {config::Type::list}}, layers);
    history.fields(f);
    history.list_checkpoints(f);
    f({"label", "the shortest text that distinguishes the runs"}, label);
  }
};

struct PageHead {
  std::string program = {};
  Problems problems = {};

  void fields(config::Fields& f, const char* kind) {
    f.version();
    f({.name = "kind", .choices = {kind}}, kind);
    f({.name = "written", .pattern = record::kTimestampPattern}, record::timestamp(std::time(nullptr)));
    f({"problems", "unreadable things that were skipped"}, problems);
    f({"program"}, program);
  }
};

struct RunsPage {
  PageHead head = {};
  std::vector<RunOnPage> runs = {};

  void fields(config::Fields& f) {
    head.fields(f, "runs");
    f({"runs"}, runs);
  }
};

// A trial in the ranking.
struct TrialOnPage {
  TrialView trial = {};
  std::string status = {};

  void fields(config::Fields& f) {
    f({"trial"}, trial.trial);
    f({"place"}, trial.place);
    f({"folder"}, trial.folder.string());
    f({.name = "status", .choices = kTrialStatuses}, status);
    f({"metric"}, trial.metric);
    f({"epochs"}, trial.epochs);
    f({"seconds"}, trial.seconds);
    f({.name = "parameters", .types = {config::Type::table}}, trial.parameters);
    f({.name = "error", .may_be_null = true}, trial.error);
  }
};

// The mean difference of the first n pairs of a race, and its bounds.
struct IntervalOnPage {
  std::size_t n = 0;
  double mean = 0;
  std::optional<Bounds> bounds = {};

  void fields(config::Fields& f) {
    f({"n"}, n);
    f({"mean"}, mean);
    f({"low"}, bounds ? std::optional(bounds->low) : std::nullopt);
    f({"high"}, bounds ? std::optional(bounds->high) : std::nullopt);
  }
};

std::vector<IntervalOnPage> intervals_of(const record::Race& race) {
  std::vector<IntervalOnPage> all;
  std::vector<double> differences;
  for (const record::Race::Pair& pair : race.pairs) {
    differences.push_back(pair.difference);
    all.push_back({.n = differences.size(),
                   .mean = spread_of(differences).mean,
                   .bounds = means_within(differences, race.alpha)});
  }
  return all;
}

struct SweepOnPage {
  SweepView view = {};
  std::vector<TrialOnPage> ranking = {};
  Value config = Value::object();

  void fields(config::Fields& f) {
    list_view(f, view);
    f({.name = "kind", .choices = kSweepKinds}, view.kind);
    view.list_facts(f);
    view.list_verdict(f);
    f({"intervals", "of a race: the means that the first n pairs do not exclude"},
      view.race ? intervals_of(*view.race) : std::vector<IntervalOnPage>());
    f({"ranking"}, ranking);
    f({"repeat"}, view.repeat);
    f({.name = "config", .types = {config::Type::table}}, config);
  }
};

struct TrialCurves {
  std::int64_t trial = 0;
  History history = {};

  void fields(config::Fields& f) {
    f({"trial"}, trial);
    history.fields(f);
  }
};

struct SweepPage {
  PageHead head = {};
  SweepOnPage sweep = {};
  std::optional<ReportedRun> environment = {};
  std::vector<TrialCurves> runs = {};
  std::size_t left_out = 0;

  void fields(config::Fields& f) {
    head.fields(f, "sweep");
    f({"sweep"}, sweep);
    f({"environment", "environment of the best trial's run"}, environment);
    f({"runs", "curves of the trials that have begun"}, runs);
    f({"runs_left_out"}, left_out);
  }
};

// A run with a damaged summary still has curves.
ReportedRun reported(Problems& problems, const fs::path& folder) try {
  return {read_run(folder)};
} catch (const Error& error) {
  note(problems, error.where(), error.summary());
  RunView unknown;
  unknown.folder = folder;
  unknown.run_id = config::printable(folder.filename().string());
  unknown.status = "unknown";
  return {std::move(unknown)};
}

// Labels each run with the shortest text that distinguishes the runs.
void add_labels(std::vector<RunOnPage>& runs) {
  std::set<std::string> names, both;
  for (const RunOnPage& run : runs) {
    names.insert(run.run.view.name);
    both.insert(run.name());
  }
  for (RunOnPage& run : runs) {
    const bool one_name = names.size() == 1 && runs.size() > 1;
    run.label = both.size() < runs.size() ? run.run.view.folder.string() : one_name ? run.run.view.run_id : run.name();
  }
}

// If a trial runs but its sweep does not, both were killed.
std::string status_of(const TrialView& trial, const SweepView& sweep) {
  return trial.status == "running" && sweep.status != "running" ? "interrupted" : trial.status;
}

}  // namespace

config::Value report_schema() {
  return config::output_schema<std::variant<RunsPage, SweepPage>>("report RUN|SWEEP --json: the data of the page");
}

Value runs_data(const std::vector<fs::path>& folders, const std::string& program, Histories& histories) {
  if (folders.size() > kMostRuns) {
    throw usage_error(std::to_string(folders.size()) + " runs are too many for one page", "",
                      "name at most " + std::to_string(kMostRuns));
  }
  RunsPage page{.head = {.program = program}};
  Problems& problems = page.head.problems;
  for (const fs::path& folder : folders) {
    const record::RunDirectory directory(folder);
    RunOnPage run{.run = reported(problems, folder)};
    run.config = flat_config(problems, directory.config());
    run.changed = changed_keys(run.config);
    run.evaluation = evaluation_of(problems, run.run.view);
    run.layers = layers_of(folder);
    run.history = history_of(problems, directory.metrics(), points_for(folders.size()), histories);
    page.runs.push_back(std::move(run));
  }
  add_labels(page.runs);
  return config::written(page);
}

Value sweep_data(const fs::path& folder, const std::string& program, Histories& histories) {
  SweepPage page{.head = {.program = program}, .sweep = {.view = read_sweep(folder)}};
  Problems& problems = page.head.problems;
  const SweepView& sweep = page.sweep.view;
  std::vector<const TrialView*> begun;
  for (const TrialView& trial : sweep.ranking) {
    page.sweep.ranking.push_back({.trial = trial, .status = status_of(trial, sweep)});
    if (record::RunDirectory(trial.folder).begun()) begun.push_back(&trial);
  }
  page.sweep.config = flat_config(problems, record::RunDirectory(sweep.folder).sweep());
  const std::size_t shown = std::min(begun.size(), kMostTrials);
  if (shown > 0) page.environment = reported(problems, begun.front()->folder);
  for (std::size_t i = 0; i < shown; ++i) {
    const fs::path metrics = record::RunDirectory(begun[i]->folder).metrics();
    page.runs.push_back(
        {.trial = begun[i]->trial, .history = history_of(problems, metrics, points_for(shown), histories)});
    for (const char* not_drawn : {"lr", "samples_per_second"}) page.runs.back().history.steps.hide(not_drawn);
  }
  page.left_out = begun.size() - shown;
  return config::written(page);
}

extern const std::span<const EmbeddedFile> kPageFiles;  // runner/report/html/page

namespace {

std::string_view page_file(std::string_view name) {
  const auto is_it = [name](const EmbeddedFile& file) { return file.name == name; };
  return std::find_if(kPageFiles.begin(), kPageFiles.end(), is_it)->text;
}

std::string page_files(std::string_view ending, std::span<const EmbeddedFile> live) {
  std::string text;
  for (const auto& files : {kPageFiles, live}) {
    for (const EmbeddedFile& file : files) {
      if (file.name.ends_with(ending)) text.append(file.text) += '\n';
    }
  }
  return text;
}

void replace(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

// Returns a random nonce: the page runs only the style and script that carry it, and the data's author cannot know it.
std::string new_nonce() {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::random_device entropy;
  std::string nonce;
  for (int i = 0; i < 32; ++i) nonce += kDigits[entropy() % 16];
  return nonce;
}

}  // namespace

std::string page(const config::Value& data, std::span<const EmbeddedFile> live) {
  // "<" could begin "</script>" or "<!--" in <script type="application/json">; with ASCII alone, older JavaScript finds
  // no other line ends.
  std::string json;
  for (const char c : data.dump(-1, ' ', /*ensure_ascii=*/true, config::Value::error_handler_t::replace)) {
    c == '<' ? json += "\\u003c" : json += c;
  }
  std::string text(page_file("report.html"));
  replace(text, "@nonce@", new_nonce());
  replace(text, "@style@", page_files(".css", live));
  replace(text, "@script@", page_files(".js", live));
  replace(text, "@follow@", live.empty() ? "" : "follow");
  replace(text, "@connect@", live.empty() ? "" : "connect-src 'self'; ");
  replace(text, "@data@", json);
  return text;
}

}  // namespace ddp::report
