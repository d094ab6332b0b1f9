#include "report/select/row.h"

#include <set>

#include "base/error.h"
#include "config/text/source.h"
#include "record/run_directory.h"
#include "record/run_names.h"
#include "record/summary.h"

namespace ddp::report {
namespace fs = std::filesystem;
namespace {

void note(Catalog& catalog, const std::string& where, const std::string& what) {
  catalog.problems.push_back(config::printable(where + ": " + what));
}

// Adds the run or sweep in a folder, if it has one.
void add(Catalog& catalog, const fs::path& folder) try {
  const record::RunDirectory directory(folder);
  if (directory.begun()) {
    catalog.runs.push_back(read_run(folder));
  } else if (directory.is_sweep()) {
    catalog.sweeps.push_back(read_sweep(folder));
  }
} catch (const Error& error) {
  note(catalog, error.where(), error.summary());
}

// Returns the folders in a folder, without links (`latest`) and hidden folders.
std::vector<fs::path> folders_in(Catalog& catalog, const fs::path& folder) {
  std::vector<fs::path> all;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code gone;
    if (entry->is_symlink(gone) || !entry->is_directory(gone) || record::is_copied_link(entry->path())) continue;
    if (!entry->path().filename().string().starts_with(".")) all.push_back(entry->path());
  }
  if (error) note(catalog, folder.string(), "cannot be read: " + error.message());
  return all;
}

}  // namespace

Catalog read_results(const fs::path& results, const std::string& name) {
  Catalog catalog;
  std::error_code ignored;
  if (!fs::exists(results, ignored)) return catalog;
  const auto names = name.empty() ? folders_in(catalog, results) : std::vector<fs::path>{results / name};
  for (const fs::path& of_name : names) {
    for (const fs::path& folder : folders_in(catalog, of_name)) add(catalog, folder);
  }
  return catalog;
}

Catalog read_trials(const fs::path& sweep) {
  Catalog catalog;
  for (const fs::path& folder : folders_in(catalog, record::RunDirectory(sweep).trials())) add(catalog, folder);
  try {
    const SweepView all = read_sweep(sweep);
    for (RunView& run : catalog.runs) add_trial_status(all, run);
  } catch (const Error& error) {
    note(catalog, error.where(), error.summary());
  }
  return catalog;
}

Catalog read_folder(const fs::path& folder) {
  Catalog catalog;
  add(catalog, folder);
  return catalog;
}

namespace {

using config::Value;

Value or_null(const std::optional<double>& number) { return number ? Value(*number) : Value(); }

// Returns the path without symbolic links, as far as the system can resolve it.
fs::path followed(const fs::path& path) {
  std::error_code error;
  const fs::path found = fs::weakly_canonical(path, error);
  return error ? path.lexically_normal() : found;
}

bool is_below(const fs::path& relative) { return !relative.empty() && *relative.begin() != ".."; }

// Adds the members that runs and sweeps share.
void add_view(Value& json, const View& view) {
  json["directory"] = config::printable(view.folder.string());
  json["name"] = view.name;
  json["run_id"] = view.run_id;
  json["status"] = view.status;
  json["started"] = record::timestamp(view.started);
  json["ended"] = view.ended ? Value(record::timestamp(*view.ended)) : Value();
  json["seconds"] = view.seconds;
}

Value to_json(const TrialView& trial) {
  return {{"trial", trial.trial},
          {"place", trial.place ? Value(*trial.place) : Value()},
          {"directory", config::printable(trial.folder.string())},
          {"status", trial.status},
          {"rung", trial.rung ? Value(*trial.rung) : Value()},
          {"metric", or_null(trial.metric)},
          {"epochs", trial.epochs},
          {"seconds", trial.seconds},
          {"parameters", trial.parameters},
          {"error", trial.error.empty() ? Value() : Value(trial.error)}};
}

}  // namespace

std::string name_of(const fs::path& folder, const fs::path& results) {
  // In most cases the written paths suffice, without disk access.
  fs::path below = folder.lexically_relative(results);
  if (!is_below(below) && !results.empty()) below = followed(folder).lexically_relative(followed(results));
  return config::printable((is_below(below) ? below : folder).string());
}

std::vector<Row> rows_of(Catalog catalog, const fs::path& results) {
  std::vector<Row> rows;
  rows.reserve(catalog.runs.size() + catalog.sweeps.size());
  const auto take = [&](auto& views) {
    for (auto& view : views) {
      std::string run = name_of(view.folder, results);
      rows.push_back({.run = std::move(run), .what = std::move(view)});
    }
  };
  take(catalog.runs);
  take(catalog.sweeps);
  return rows;
}

std::optional<double> metric_of(const Row& row, const std::string& name) {
  if (const SweepView* sweep = row.as_sweep()) {
    return sweep->best() && sweep->metric == name ? sweep->best()->metric : std::nullopt;
  }
  const auto& metrics = row.as_run()->final_metrics;
  const auto found = metrics.find(name);
  return found == metrics.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> metrics_of(const std::vector<Row>& rows) {
  std::set<std::string, record::MetricOrder> names;
  for (const Row& row : rows) {
    if (const SweepView* sweep = row.as_sweep()) {
      if (!sweep->metric.empty()) names.insert(sweep->metric);
    } else {
      for (const auto& [name, value] : row.as_run()->final_metrics) names.insert(name);
    }
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> row_keys(const std::vector<std::string>& metrics) {
  std::vector<std::string> keys{"run", "kind", "name", "run_id", "status", "started", "seconds", "epochs", "steps"};
  keys.insert(keys.end(), metrics.begin(), metrics.end());
  keys.insert(keys.end(), {"best", "trials", "done", "world_size", "restarts"});
  return keys;
}

config::Value value_of(const Row& row, const std::string& key) {
  const View& view = row.view();
  const RunView* run = row.as_run();
  const SweepView* sweep = row.as_sweep();
  if (key == "run") return row.run;
  if (key == "kind") return sweep ? "sweep" : "run";
  if (key == "name") return view.name;
  if (key == "run_id") return view.run_id;
  if (key == "status") return view.status;
  if (key == "started") return record::timestamp(view.started);
  if (key == "seconds") return view.seconds;
  if (key == "trials") return sweep ? Value(sweep->trials) : Value();
  if (key == "done") return sweep ? Value(sweep->completed + sweep->stopped + sweep->failed) : Value();
  if (key == "epochs") return run ? Value(run->epochs) : Value();
  if (key == "steps") return run ? Value(run->steps) : Value();
  if (key == "world_size") return run ? Value(run->world_size) : Value();
  if (key == "restarts") return run ? Value(run->restarts) : Value();
  if (key == "best") {
    if (run) return run->best ? Value(run->best->value) : Value();
    return sweep->best() ? or_null(sweep->best()->metric) : Value();
  }
  if (const auto metric = metric_of(row, key)) return *metric;
  const auto found = row.config.find(key);
  return found == row.config.end() ? Value() : found->second;
}

void add_facts(Value& json, const RunView& run) {
  json["stopped_by"] = run.stopped_by.empty() ? Value() : Value(run.stopped_by);
  json["epochs"] = run.epochs;
  json["steps"] = run.steps;
  json["final"] = run.final_metrics;
  json["best"] =
      run.best ? Value{{"metric", run.best->metric}, {"value", run.best->value}, {"step", run.best->step}} : Value();
  json["world_size"] = run.world_size;
  json["devices"] = run.devices;
  json["backend"] = run.backend;
  json["versions"] = run.versions;
  json["restarts"] = run.restarts;
  json["error"] =
      !run.error ? Value() : Value{{"rank", run.error->rank}, {"what", run.error->what}, {"log", run.error->log}};
}

void add_facts(Value& json, const SweepView& sweep) {
  json["method"] = sweep.method;
  json["metric"] = sweep.metric;
  json["goal"] = sweep.goal;
  json["parameters"] = sweep.parameters;
  json["trials"] = sweep.trials;
  json["completed"] = sweep.completed;
  json["stopped"] = sweep.stopped;
  json["failed"] = sweep.failed;
  json["waiting"] = sweep.waiting;
}

config::Value to_json(const RunView& run) {
  Value json = {{"kind", "run"}};
  add_view(json, run);
  add_facts(json, run);
  json["git"] = run.commit.empty() ? Value() : Value{{"commit", run.commit}, {"dirty", run.dirty}};
  json["origin"] = run.origin ? record::to_json(*run.origin) : Value();
  return json;
}

config::Value to_json(const SweepView& sweep) {
  Value json = {{"kind", "sweep"}};
  add_view(json, sweep);
  add_facts(json, sweep);
  json["best"] = sweep.best() ? to_json(*sweep.best()) : Value();
  json["ranking"] = Value::array();
  for (const TrialView& trial : sweep.ranking) json["ranking"].push_back(to_json(trial));
  json["repeat"] = sweep.repeat;
  return json;
}

config::Value to_json(const Row& row) {
  Value json = {{"run", row.run}};
  json.update(std::visit([](const auto& view) { return to_json(view); }, row.what));
  return json;
}

}  // namespace ddp::report
