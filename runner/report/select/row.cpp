#include "report/select/row.h"

#include <sys/stat.h>
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

// Returns the folders in a folder, without `latest` and hidden folders. A link may lead to a run elsewhere.
std::vector<fs::path> folders_in(Catalog& catalog, const fs::path& folder) {
  std::vector<fs::path> all;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code gone;
    const bool is_latest = entry->path().filename() == "latest" && entry->is_symlink(gone);
    if (is_latest || !entry->is_directory(gone) || record::is_copied_link(entry->path())) continue;
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

// Of the last validation, and not of the best checkpoint.
const std::string kLast = "last.";

Value or_null(const std::optional<double>& number) { return number ? Value(*number) : Value(); }

bool is_below(const fs::path& relative) { return !relative.empty() && *relative.begin() != ".."; }

}  // namespace

fs::path followed(const fs::path& path) {
  std::error_code error;
  const fs::path found = fs::weakly_canonical(path, error);
  return error ? path.lexically_normal() : found;
}

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

Stamp stamp_of(const fs::path& folder) {
  Stamp stamp{};
  auto next = stamp.begin();
  for (const char* file : {"summary.json", "metrics.jsonl", "config.toml", "sweep.toml", "evaluation.json"}) {
    struct stat status {};
    if (lstat((folder / file).c_str(), &status) == 0) {
      next[0] = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
      next[1] = status.st_size;
      next[2] = static_cast<std::int64_t>(status.st_ino);
    }
    next += 3;
  }
  return stamp;
}

fs::path link_out_of(const fs::path& root, const fs::path& folder) {
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code gone;
    if (!entry->is_symlink(gone)) continue;
    if (!is_below(followed(entry->path()).lexically_relative(root))) return entry->path();
  }
  return {};
}

bool Listing::is_old(const Entry& entry, const Stamp& now) const {
  return entry.stamp != now || (!entry.row.empty() && entry.row.front().view().status == "running");
}

bool Listing::read() {
  Catalog of_folders;
  std::map<fs::path, Entry> all;
  bool changed = false;
  for (const fs::path& name : folders_in(of_folders, results_)) {
    for (const fs::path& folder : folders_in(of_folders, name)) {
      auto known = entries_.extract(folder);
      Entry& entry = known ? all.insert(std::move(known)).position->second : all[folder];
      const Stamp now = stamp_of(folder);
      if (!is_old(entry, now)) continue;
      changed = true;
      Catalog one;
      // A link to a run elsewhere was made for this; what the run leads to is not shown.
      std::error_code none;
      const bool is_linked = fs::is_symlink(folder, none) || fs::is_symlink(name, none);
      if (const fs::path link = link_out_of(is_linked ? followed(folder) : root_, folder); link.empty()) {
        one = read_folder(folder);
      } else {
        note(one, link.string(), "leads out of the results folder");
      }
      entry = {.stamp = now, .problems = std::move(one.problems)};
      entry.row = rows_of(std::move(one), results_);
    }
  }
  changed = changed || !entries_.empty() || of_folders.problems != problems_;
  entries_ = std::move(all);
  problems_ = std::move(of_folders.problems);
  return changed;
}

std::vector<Row> Listing::rows() const {
  std::vector<Row> rows;
  for (const auto& [folder, entry] : entries_) rows.insert(rows.end(), entry.row.begin(), entry.row.end());
  return rows;
}

std::vector<std::string> Listing::problems() const {
  std::vector<std::string> all = problems_;
  for (const auto& [folder, entry] : entries_) all.insert(all.end(), entry.problems.begin(), entry.problems.end());
  return all;
}

std::optional<double> metric_of(const Row& row, const std::string& name) {
  if (const SweepView* sweep = row.as_sweep()) {
    if (sweep->result) {
      const auto found = sweep->result->metrics.find(name);
      return found == sweep->result->metrics.end() ? std::nullopt : std::optional(found->second.mean);
    }
    return sweep->best() && sweep->metric == name ? sweep->best()->metric : std::nullopt;
  }
  const bool of_last = name.starts_with(kLast);
  const Metrics& metrics = of_last ? row.as_run()->final_metrics : row.as_run()->figures;
  const auto found = metrics.find(of_last ? name.substr(kLast.size()) : name);
  return found == metrics.end() ? std::nullopt : std::optional(found->second);
}

bool is_metric_key(const std::string& key) {
  return record::is_metric_name(key.starts_with(kLast) ? key.substr(kLast.size()) : key);
}

std::vector<std::string> metrics_of(const std::vector<Row>& rows) {
  std::set<std::string, record::MetricOrder> names;
  for (const Row& row : rows) {
    if (const SweepView* sweep = row.as_sweep()) {
      if (!sweep->metric.empty()) names.insert(sweep->metric);
      if (!sweep->result) continue;
      for (const auto& [name, figure] : sweep->result->metrics) names.insert(name);
    } else {
      for (const auto& [name, value] : row.as_run()->figures) names.insert(name);
    }
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> row_keys(const std::vector<std::string>& metrics) {
  std::vector<std::string> keys{"run", "kind", "name", "run_id", "status", "started", "seconds", "epochs", "steps"};
  keys.insert(keys.end(), metrics.begin(), metrics.end());
  for (const std::string& name : metrics) keys.push_back(kLast + name);
  keys.insert(keys.end(), {"best", "trials", "done", "world_size", "restarts", "size"});
  return keys;
}

config::Value value_of(const Row& row, const std::string& key) {
  const View& view = row.view();
  const RunView* run = row.as_run();
  const SweepView* sweep = row.as_sweep();
  if (key == "run") return row.run;
  if (key == "kind") return sweep ? sweep->kind : "run";
  if (key == "name") return view.name;
  if (key == "run_id") return view.run_id;
  if (key == "status") return view.status;
  if (key == "started") return record::timestamp(view.started);
  if (key == "seconds") return view.seconds;
  if (key == "size") return row.size ? Value(*row.size) : Value();
  if (key == "trials") return sweep ? Value(sweep->trials) : Value();
  if (key == "done") return sweep ? Value(sweep->completed + sweep->stopped + sweep->failed) : Value();
  if (key == "epochs") return run ? Value(run->epochs) : Value();
  if (key == "steps") return run ? Value(run->steps) : Value();
  if (key == "world_size") return run ? Value(run->world_size) : Value();
  if (key == "restarts") return run ? Value(run->restarts) : Value();
  if (key == "best") {
    if (run) return run->best ? or_null(run->best->value) : Value();
    if (sweep->is_cv()) return or_null(metric_of(row, sweep->metric));
    return sweep->best() ? or_null(sweep->best()->metric) : Value();
  }
  if (const auto metric = metric_of(row, key)) return *metric;
  const auto found = row.config.find(key);
  return found == row.config.end() ? Value() : found->second;
}

ListedRow listed(const Row& row) {
  if (const RunView* run = row.as_run()) return Named<RunView>{.run = row.run, .view = *run};
  return Named<SweepView>{.run = row.run, .view = *row.as_sweep()};
}

}  // namespace ddp::report
