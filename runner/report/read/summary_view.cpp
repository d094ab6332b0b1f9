#include "report/read/summary_view.h"

#include <sys/stat.h>
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cmath>
#include <exception>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/error.h"
#include "config/difference.h"
#include "config/text/json_text.h"
#include "config/text/source.h"
#include "config/text/toml.h"
#include "record/file/atomic_file.h"
#include "record/file/input_file.h"
#include "record/liveness.h"
#include "record/metrics/event_reader.h"
#include "record/metrics/metric_values.h"
#include "record/run_directory.h"
#include "record/summary.h"

namespace ddp::report {
namespace fs = std::filesystem;
namespace {

using config::Value;

constexpr std::uint64_t kLargestSummary = 16 << 20;
constexpr std::int64_t kMostOfAnything = 1'000'000'000'000'000;  // a sum of several does not overflow

// Returns the member with this key; null if it is missing.
const Value& member(const Value& object, const char* key) {
  static const Value kNone;
  if (!object.is_object()) return kNone;
  const auto found = object.find(key);
  return found == object.end() ? kNone : *found;
}

std::string to_text(const Value& value) {
  return value.is_string() ? config::printable(value.get_ref<const std::string&>()) : "";
}

// Returns a text of several lines.
std::string to_lines(const Value& value) {
  if (!value.is_string()) return "";
  std::istringstream in(value.get_ref<const std::string&>());
  std::string lines;
  for (std::string line; std::getline(in, line);) lines += (lines.empty() ? "" : "\n") + config::printable(line);
  return lines;
}

std::optional<double> to_number(const Value& value) {
  if (!value.is_number() || !std::isfinite(value.get<double>())) return {};
  return value.get<double>();
}

std::optional<std::int64_t> to_count(const Value& value, std::int64_t most = kMostOfAnything) try {
  return config::as_count(value, most);
} catch (const std::exception&) {
  return {};
}

std::string text(const Value& object, const char* key) { return to_text(member(object, key)); }
double number_of(const Value& object, const char* key) { return to_number(member(object, key)).value_or(0); }
std::int64_t count_of(const Value& object, const char* key) { return to_count(member(object, key)).value_or(0); }

std::vector<std::string> texts(const Value& list) {
  std::vector<std::string> all;
  if (!list.is_array()) return all;
  for (const Value& item : list) all.push_back(to_text(item));
  return all;
}

std::optional<std::time_t> moment(const Value& object, const char* key) {
  return record::read_timestamp(text(object, key));
}

bool known(const std::string& status) {
  return status == "running" || status == "completed" || status == "failed" || status == "interrupted";
}

// Returns the object in summary.json; an empty one if the file is missing.
Value summary_of(const fs::path& file) {
  struct stat status {};
  if (lstat(file.c_str(), &status) != 0 && errno == ENOENT) return Value::object();
  try {
    Value json = config::parse_value(record::read_text(file, kLargestSummary));
    if (!known(text(json, "status"))) throw std::runtime_error("it has no status");
    return json;
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw usage_error(std::string("is damaged: ") + error.what(), file.string());
  }
}

// Runs of older versions did not record their start: the age of their first file gives it.
std::time_t age_of(const record::RunDirectory& directory) {
  struct stat status {};
  const fs::path first = directory.is_sweep() ? directory.sweep() : directory.config();
  return stat(first.c_str(), &status) == 0 ? status.st_mtime : 0;
}

// As the file says: a killed run does not record its end.
bool has_ended(const Value& summary) {
  const std::string status = text(summary, "status");
  return !status.empty() && status != "running";
}

void read_view(View& view, const Value& json, const fs::path& folder) {
  const record::RunDirectory directory(folder);
  view.folder = folder;
  view.name = text(json, "name");
  view.run_id = config::printable(folder.filename().string());
  view.status = text(json, "status");
  // Most runs have ended: their processes are not looked for.
  if (!has_ended(json)) view.status = record::is_alive(directory, text(json, "host")) ? "running" : "interrupted";
  const auto started = moment(json, "started");
  view.started = started ? *started : age_of(directory);
  view.ended = moment(json, "ended");
  view.seconds = number_of(json, "seconds");
  view.tags = record::read_tags(directory);
  view.tags.note = to_lines(view.tags.note);
}

// Returns the name of the folder of a race's run; empty: it is none.
std::string name_in_race(const TrialView& trial) {
  const Value candidate = member(trial.parameters, "candidate");
  const auto seed = to_count(member(trial.parameters, "seed"));
  return (candidate == "A" || candidate == "B") && seed ? candidate.get<std::string>() + "-" + std::to_string(*seed)
                                                        : "";
}

TrialView read_trial(const Value& json, const fs::path& sweep) {
  TrialView trial;
  trial.trial = count_of(json, "trial");
  trial.metric = to_number(member(json, "metric"));
  if (trial.metric) trial.place = to_count(member(json, "place"));
  trial.status = text(json, "status");
  trial.rung = to_count(member(json, "rung"));
  trial.epochs = count_of(json, "epochs");
  trial.seconds = number_of(json, "seconds");
  if (const Value& parameters = member(json, "parameters"); parameters.is_object()) {
    for (const auto& [key, value] : parameters.items()) trial.parameters[config::printable(key)] = value;
  }
  // Not from the file: its path could lead anywhere.
  trial.folder = record::RunDirectory(sweep).trial(static_cast<int>(trial.trial), name_in_race(trial)).path();
  trial.error = to_lines(member(json, "error"));
  return trial;
}

// Returns the rows of a square matrix of counts; empty: the value is none.
std::vector<std::vector<std::int64_t>> to_matrix(const Value& value) {
  std::vector<std::vector<std::int64_t>> rows;
  if (!value.is_array()) return rows;
  for (const Value& row : value) {
    if (!row.is_array() || row.size() != value.size()) return {};
    rows.emplace_back();
    for (const Value& cell : row) {
      const auto count = to_count(cell);
      if (!count) return {};
      rows.back().push_back(*count);
    }
  }
  return rows;
}

// The numbers of an object with metrics, by their names safe for a terminal.
Value printable_numbers(const Value& metrics) {
  Value numbers = Value::object();
  if (!metrics.is_object()) return numbers;
  for (const auto& [name, value] : metrics.items()) {
    if (const auto number = to_number(value)) numbers[config::printable(name)] = *number;
  }
  return numbers;
}

void read_matrices(const Value& metrics, RunView& run) {
  if (!metrics.is_object()) return;
  for (const auto& [name, value] : metrics.items()) {
    if (auto matrix = to_matrix(value); !matrix.empty()) run.matrices.emplace(config::printable(name), matrix);
  }
}

std::optional<record::ValidationFigures> read_measured(const Value& json) {
  if (!json.is_object() || !json.contains("metric")) return {};
  record::ValidationFigures measured{.metric = text(json, "metric"),
                                     .value = to_number(member(json, "value")),
                                     .step = count_of(json, "step"),
                                     .epoch = count_of(json, "epoch")};
  if (const Value& values = member(json, "values"); values.is_object()) measured.values = printable_numbers(values);
  measured.train = printable_numbers(json);
  for (auto one = measured.train.begin(); one != measured.train.end();) {
    one = one.key().starts_with("train_") ? std::next(one) : measured.train.erase(one);
  }
  return measured;
}

// Earlier versions wrote the metrics alone.
std::optional<record::TestFigures> read_test(const Value& json, RunView& run) {
  if (!json.is_object() || json.empty()) return {};
  const Value& values = member(json, "values").is_object() ? member(json, "values") : json;
  read_matrices(values, run);
  return record::TestFigures{
      .step = count_of(json, "step"), .epoch = count_of(json, "epoch"), .values = printable_numbers(values)};
}

// A run that has not ended, and earlier versions, wrote no metrics of the best checkpoint: its line has them.
void add_history(RunView& run) {
  const record::RunDirectory directory(run.folder);
  const record::EpochHistory history =
      run.best ? record::epoch_history(directory.metrics(), {.name = run.best->metric}, run.best->step)
               : record::history_of(directory);
  if (run.best && run.best->value) run.best->values = {{run.best->metric, *run.best->value}};
  if (history.best) run.best = history.best;
  run.last = history.last;
}

// Numbers alone: a value may be null.
void add_numbers(Metrics& figures, const Value& values) {
  for (const auto& [name, value] : values.items()) {
    if (value.is_number()) figures[name] = value.get<double>();
  }
}

void add_figures(RunView& run) {
  for (const auto& [name, value] : run.final_metrics) {
    if (!run.best || name.starts_with(config::kTestPrefix)) run.figures[name] = value;
  }
  if (run.best) add_numbers(run.figures, run.best->train);
  if (run.best) add_numbers(run.figures, run.best->values);
  if (run.test) add_numbers(run.figures, run.test->values);
}

}  // namespace

void View::fields(config::Fields& f) {
  f({"directory"}, config::printable(folder.string()));
  f({"name"}, name);
  f({"run_id"}, run_id);
  f({.name = "status", .choices = record::kStatuses}, status);
  f({.name = "started", .pattern = record::kTimestampPattern}, record::timestamp(started));
  f({.name = "ended", .pattern = record::kTimestampPattern},
    ended ? std::optional(record::timestamp(*ended)) : std::nullopt);
  f({"seconds"}, seconds);
  tags.fields(f);
}

void RunView::fields(config::Fields& f) {
  f({.name = "kind", .choices = {"run"}}, "run");
  View::fields(f);
  list_facts(f);
  f({"git", "git state of the experiment file's folder; null outside a git checkout"},
    commit.empty() ? std::nullopt : std::optional(record::Git{.commit = commit, .dirty = dirty}));
  f({"origin", "of a fork"}, origin);
}

void RunView::list_facts(config::Fields& f) const {
  f(record::kStuck, stuck);
  f(record::kStoppedBy, stopped_by);
  f({"epochs"}, epochs);
  f({"steps"}, steps);
  f({"total_steps", "when all are done; 0: unknown"}, total_steps);
  f({"loss", "of the newest step, while the run trains"}, loss);
  f({"seconds_left", "an estimate, while the run trains"}, seconds_left);
  f({"final", "the last measured values"}, Value(final_metrics), record::schema_of_metrics("train|val|test", false));
  f({"best", "of the best checkpoint, which commands use"}, best);
  f({"last", "of the newest validation"}, last);
  f({"test"}, test);
  f({.name = "held_out",
     .doc = "the same in runs that are measured on the same rows; null: none, or not known",
     .may_be_null = true},
    held_out);
  f({"world_size"}, world_size);
  f({"devices"}, devices);
  f({"backend"}, backend);
  f({"versions"}, versions);
  f({"restarts"}, restarts);
  f({"error", "cause of the failure"}, error);
}

void TrialView::fields(config::Fields& f) {
  f({"trial"}, trial);
  f({"place", "1 is the best; null without a metric"}, place);
  f({"directory"}, config::printable(folder.string()));
  f({.name = "status", .doc = "stopped: the trial is at a rung", .choices = kTrialStatuses}, status);
  f({.name = "rung", .doc = "the trial's rung, or the one it left; null: none", .range = config::at_least(1)}, rung);
  f({"metric"}, metric);
  f({"epochs"}, epochs);
  f({"seconds"}, seconds);
  f({.name = "parameters", .doc = "its value of each key of [sweep.parameters]", .types = {config::Type::table}},
    parameters);
  f({.name = "error", .may_be_null = true}, error);
}

void SweepView::fields(config::Fields& f) {
  f({.name = "kind", .choices = kSweepKinds}, kind);
  View::fields(f);
  list_facts(f);
  list_verdict(f);
  f({"best"}, best() ? std::optional(*best()) : std::nullopt);
  f({"repeat", "command that trains the best trial alone"}, repeat);
}

std::optional<double> SweepView::mean() const {
  double sum = 0;
  for (const TrialView& trial : ranking) {
    if (!trial.metric) return {};
    sum += *trial.metric;
  }
  return ranking.empty() ? std::nullopt : std::optional(sum / static_cast<double>(ranking.size()));
}

void SweepView::list_verdict(config::Fields& f) const {
  f({"metrics", "of a cross-validation that has completed; null: none"},
    result ? std::optional(result->metrics) : std::nullopt);
  f({"race", "of a race that has ended"}, race);
}

void SweepView::list_facts(config::Fields& f) const {
  f({"method"}, method);
  f({"metric"}, metric);
  f({"goal"}, goal);
  f({"parameters", "the varied keys"}, parameters);
  f({"trials"}, trials);
  f({"completed"}, completed);
  f({"stopped"}, stopped);
  f({"failed"}, failed);
  f({"waiting"}, waiting);
}

std::string status_in_words(const TrialView& trial) {
  const std::string rung = "rung " + std::to_string(trial.rung.value_or(1));
  if (trial.status == "stopped") return "at " + rung;
  return trial.status == "running" && trial.rung ? "promoted from " + rung : trial.status;
}

config::Value read_evaluation(const RunView& run) {
  constexpr std::uint64_t kLargest = 16 << 20;
  const fs::path file = record::RunDirectory(run.folder).evaluation();
  std::error_code none;
  if (!run.best || !fs::exists(file, none)) return {};
  try {
    Value found = config::parse_value(record::read_text(file, kLargest));
    return to_count(member(found, "step")) == run.best->step ? std::move(found) : Value();
  } catch (const std::runtime_error& error) {
    throw usage_error(std::string("is damaged: ") + error.what(), file.string());
  }
}

void add_trial_status(const SweepView& sweep, RunView& run) {
  for (const TrialView& trial : sweep.ranking) {
    const bool knows_more = trial.status == "stopped" || (trial.status == "running" && trial.rung);
    if (knows_more && trial.folder.filename() == run.folder.filename()) run.of_trial = status_in_words(trial);
  }
}

std::string status_in_words(const RunView& run) {
  if (!run.of_trial.empty()) return run.of_trial;
  if (!run.stuck.empty()) return "stuck";
  return run.status == "completed" && !run.stopped_by.empty() ? run.status + " (" + run.stopped_by + ")" : run.status;
}

namespace {

// Keeps and adds what only a run that trains has.
void add_pace(RunView& run) {
  if (run.status != "running" || !run.loss || !std::isfinite(*run.loss)) run.loss = {};
  if (run.status != "running" || run.steps == 0 || run.total_steps < run.steps) return;
  run.seconds_left = run.seconds / static_cast<double>(run.steps) * static_cast<double>(run.total_steps - run.steps);
}

}  // namespace

RunView read_run(const fs::path& folder) {
  RunView run;
  const Value json = summary_of(record::RunDirectory(folder).summary());
  read_view(run, json, folder);
  if (run.status == "running") run.stuck = text(json, "stuck");
  run.stopped_by = text(json, "stopped_by");
  run.epochs = count_of(json, "epochs");
  run.steps = count_of(json, "steps");
  run.total_steps = count_of(json, "total_steps");
  add_numbers(run.final_metrics, printable_numbers(member(json, "final")));
  read_matrices(member(json, "final"), run);
  run.best = read_measured(member(json, "best"));
  run.last = read_measured(member(json, "last"));
  run.test = read_test(member(json, "test"), run);
  run.held_out = text(json, "held_out");
  run.parameters = count_of(json, "parameters");
  run.frozen_parameters = count_of(json, "frozen_parameters");
  run.world_size = count_of(json, "world_size");
  run.devices = texts(member(json, "devices"));
  run.backend = text(json, "backend");
  if (const Value& versions = member(json, "versions"); versions.is_object()) {
    for (const auto& [name, value] : versions.items()) run.versions.emplace(config::printable(name), to_text(value));
  }
  const Value& git = member(json, "git");
  run.commit = text(git, "commit");
  run.dirty = member(git, "dirty") == true;
  run.restarts = count_of(json, "restarts");
  run.origin = record::read_origin(member(json, "origin"));
  if (run.origin) {
    for (std::string* text : {&run.origin->run, &run.origin->checkpoint}) *text = config::printable(*text);
  }
  if (const Value& error = member(json, "error"); error.is_object()) {
    run.error = {.rank = static_cast<int>(to_count(member(error, "rank"), INT_MAX).value_or(-1)),
                 .what = to_lines(member(error, "what")),
                 .log = text(error, "log")};
  }
  if (!has_ended(json)) add_progress(run);
  add_pace(run);
  const bool is_older = run.best && run.best->train.empty() && run.final_metrics.contains("train_loss");
  if (!run.last || is_older) add_history(run);
  add_figures(run);
  return run;
}

SweepView read_sweep(const fs::path& folder) {
  SweepView sweep;
  const Value json = summary_of(record::RunDirectory(folder).summary());
  read_view(sweep, json, folder);
  const std::string kind = text(json, "kind");
  if (std::find(kSweepKinds.begin(), kSweepKinds.end(), kind) != kSweepKinds.end()) sweep.kind = kind;
  if (sweep.kind == "race") sweep.race = record::read_race(folder);
  if (sweep.is_cv() && sweep.status == "completed") sweep.result = record::read_cross_validation(folder);
  sweep.method = text(json, "method");
  sweep.metric = text(json, "metric");
  sweep.goal = text(json, "goal");
  sweep.parameters = texts(member(json, "parameters"));
  sweep.trials = count_of(json, "trials");
  sweep.completed = count_of(json, "completed");
  sweep.stopped = count_of(json, "stopped");
  sweep.failed = count_of(json, "failed");
  sweep.waiting = count_of(json, "waiting");
  if (const Value& ranking = member(json, "ranking"); ranking.is_array()) {
    for (const Value& trial : ranking) sweep.ranking.push_back(read_trial(trial, folder));
  }
  if (sweep.status == "interrupted") {
    // The trial was killed with its sweep, and nothing could record that.
    for (TrialView& trial : sweep.ranking) {
      if (trial.status == "running") trial.status = sweep.status;
    }
  }
  sweep.command = text(json, "command");
  sweep.repeat = text(json, "repeat");
  return sweep;
}

namespace {

using record::EventKind;

constexpr std::uint64_t kEnd = 256 << 10;  // bytes read from the end of the file: more than a thousand lines

void take(RunView& run, const record::Event& event) {
  if (!event.has_place) return;
  const bool is_step = event.kind == EventKind::step;
  run.epochs = event.epoch + (event.kind == EventKind::epoch ? 1 : 0);
  run.steps = event.step;
  if (is_step) {
    run.seconds = event.seconds;
    run.loss = event.number("loss");
    run.samples_per_second = event.number("samples_per_second");
    return;
  }
  if (const double training = number_of(event.members, "seconds_training"); training > 0) {
    run.waiting_for_data = number_of(event.members, "seconds_waiting_for_data") / training;
  }
  for (const auto& [name, value] : event.numbers) {
    if (record::is_metric_name(name) && std::isfinite(value)) run.final_metrics[std::string(name)] = value;
  }
}

bool tells_progress(EventKind kind) {
  return kind == EventKind::step || kind == EventKind::epoch || kind == EventKind::validation ||
         kind == EventKind::test;
}

// Skips lines of other kinds unparsed.
void take(RunView& run, std::string_view line, record::Event& event) {
  const auto kind = record::kind_in_front(line);
  if (kind && !tells_progress(*kind)) return;
  if (record::read_event(line, event) && tells_progress(event.kind)) take(run, event);
}

}  // namespace

void add_progress(RunView& run) try {
  const record::InputFile file(record::RunDirectory(run.folder).metrics());
  std::string text(std::min(kEnd, file.size()), '\0');
  file.read(file.size() - text.size(), text.data(), text.size());
  // The first line may be cut off, and the last one incomplete.
  std::size_t begin = text.size() < file.size() ? text.find('\n') : 0;
  if (begin == std::string::npos) return;
  record::Event event;
  for (std::size_t end = text.find('\n', begin); end != std::string::npos; end = text.find('\n', begin)) {
    take(run, std::string_view(text).substr(begin, end - begin), event);
    begin = end + 1;
  }
} catch (const Error&) {  // no file yet
}

namespace {

constexpr std::uint64_t kLargestConfig = 1 << 20;
constexpr std::size_t kMostKeys = 1000;  // in one table: a lookup scans all of them

void require_few_keys(const config::Node& node) {
  if (node.entries.size() > kMostKeys) throw std::runtime_error("it has too many keys");
  for (const config::Node& item : node.items) require_few_keys(item);
  for (const auto& [name, entry] : node.entries) require_few_keys(entry);
}

// Replaces `loss = "mse"` by a table with that name.
void write_out_short_forms(config::Value& config) {
  for (const char* kind : {"model", "dataset", "loss", "optimizer", "scheduler"}) {
    const auto section = config.find(kind);
    if (section != config.end() && section->is_string()) *section = config::Value{{"name", *section}};
  }
}

}  // namespace

config::Value read_config(const std::filesystem::path& file) {
  const std::string text = record::read_text(file, kLargestConfig);
  config::Mistakes mistakes;
  const auto root = config::parse_toml(config::Source::file(file, text, 0), text, mistakes);
  if (!root) throw usage_error("is damaged: it is not TOML", file.string());
  try {
    require_few_keys(*root);
    config::Value config = config::to_value(*root);
    write_out_short_forms(config);
    return config::without_queries(std::move(config));
  } catch (const std::runtime_error& error) {
    throw usage_error(std::string("is damaged: ") + error.what(), file.string());
  }
}

config::Value flat(const config::Value& table) {
  config::Value all = config::Value::object();
  for (const auto& [name, value] : table.items()) {
    if (!value.is_object()) {
      all[name] = value;
      continue;
    }
    const config::Value inside = flat(value);
    for (const auto& [key, one] : inside.items()) all[name + "." + key] = one;
  }
  return all;
}

}  // namespace ddp::report
