#include <algorithm>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/log.h"
#include "base/own_command.h"
#include "base/paths.h"
#include "base/url.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "config/metric.h"
#include "record/metrics/metric_values.h"
#include "record/run_directory.h"
#include "record/run_names.h"
#include "report/select/comparison.h"
#include "report/select/query.h"
#include "report/text/paper_table.h"
#include "report/text/run_page.h"
#include "runs/fetched.h"

namespace ddp::commands {
namespace fs = std::filesystem;
namespace {

struct ListOptions {
  std::vector<std::string> names;
  std::string results = "results";
  std::vector<std::string> where;
  report::Query query;
  std::string format;  // of a table for a paper; empty: none
  std::vector<std::string> metrics;
  bool json = false;
};

void append(report::Catalog& all, report::Catalog more) {
  std::move(more.runs.begin(), more.runs.end(), std::back_inserter(all.runs));
  std::move(more.sweeps.begin(), more.sweeps.end(), std::back_inserter(all.sweeps));
  std::move(more.problems.begin(), more.problems.end(), std::back_inserter(all.problems));
}

// Reads the results that a name stands for: the trials of a sweep, a run itself, or the runs of an experiment.
report::Catalog read_named(const std::string& name, const fs::path& results) {
  // An experiment whose newest result is a run stands for all of its runs; find() would return the newest only.
  std::error_code none;
  const record::RunDirectory of_name(results / name);
  const bool of_experiment = is_safe_name(name) && name != "latest" && !of_name.begun() && !of_name.is_sweep() &&
                             fs::is_directory(of_name.path(), none);
  if (of_experiment && !record::RunDirectory(of_name.path() / "latest").is_sweep()) {
    report::Catalog runs = report::read_results(results, name);
    if (runs.runs.empty() && runs.sweeps.empty() && runs.problems.empty()) throw record::unknown_run(results, name);
    return runs;
  }
  const auto found = record::RunDirectory::find(results, name);
  return found.is_sweep() ? report::read_trials(found.path()) : report::read_folder(found.path());
}

report::Catalog read(const ListOptions& o) {
  if (o.names.empty()) return report::read_results(o.results);
  report::Catalog all;
  for (const std::string& name : o.names) append(all, read_named(name, o.results));
  return all;
}

// Does the query use a metric? Metrics that no run has are valid keys too; components.json lists them.
bool asks_for_metric(const report::Query& query) {
  const auto names_metric = [](const report::Condition& condition) { return report::is_metric_key(condition.key); };
  const std::string& key = query.sort_by;
  return report::is_metric_key(key.starts_with('-') ? key.substr(1) : key) ||
         std::any_of(query.where.begin(), query.where.end(), names_metric) ||
         std::any_of(query.columns.begin(), query.columns.end(), report::is_metric_key);
}

// Why there is nothing to list.
std::string nothing_in_words(const ListOptions& o) {
  // A sweep without trials, or runs that cannot be read.
  if (!o.names.empty()) return "no run to list; `" + own_command("list") + "` lists all";
  return "no runs in " + o.results + " yet; " + record::no_runs_in_words(o.results) +
         "; --results FOLDER names the folder of other results";
}

// Warns of experiments whose runs cannot be compared by their metrics.
void tell_other_rows(const std::vector<report::Row>& rows) {
  std::map<std::string, std::vector<report::Row>> by_name;
  for (const report::Row& row : rows) by_name[row.view().name].push_back(row);
  for (const auto& [name, runs] : by_name) {
    if (!report::other_rows(runs).empty()) {
      log::warn("the runs of " + name + " were not all measured on the same rows: `" + own_command("compare") +
                "` tells which");
    }
  }
}

void list(ListOptions& o) {
  std::optional<runs::FetchedCopy> fetched;
  if (is_url(o.results)) {
    fetched.emplace(o.results, runs::FetchedCopy::What::results);
    o.results = fetched->path().string();
  }
  report::Query query = o.query;
  query.where = conditions_of(o.where);
  if (asks_for_metric(query)) query.metrics = config::metric_names(config::Components::installed());
  report::Catalog catalog = read(o);
  std::vector<std::string> problems = std::move(catalog.problems);
  const bool any = !catalog.runs.empty() || !catalog.sweeps.empty();
  const auto rows = report::select(report::rows_of(std::move(catalog), o.results), query, problems);
  log::warn_of(problems);
  if (!o.format.empty() && !rows.empty()) {
    report::print_paper_table(rows, o.metrics, o.format, std::cout);
  } else if (o.json) {
    report::print_list_as_json(rows, std::cout);
  } else if (!rows.empty()) {
    report::print_list(rows, std::cout, report::terminal_of_stdout(), query.columns);
    tell_other_rows(rows);
  } else {
    log::info(any ? "no run in " + o.results + " matches" : nothing_in_words(o));
  }
}

completion::Candidates sort_keys(const completion::Given& given, const std::string& typed) {
  return completion::one_of(report::row_keys(config::metric_names(config::Components::installed())))(given, typed);
}

void add_list(CLI::App& verb, ListOptions& options) {
  add_paper_format(verb, options.format, options.metrics);
  completes(verb.add_option("NAME", options.names, "list only these experiments, runs, and trials of these sweeps"),
            completion::runs);
  add_results(verb, options.results);
  add_status(verb, options.query.status, "list only this status: running, completed, failed or interrupted");
  completes(verb.add_option("--name", options.query.name, "list only experiments of this name; * and ? are wildcards"),
            completion::experiments)
      ->type_name("NAME");
  add_tag(verb, options.query.tags, "list only results with this tag");
  add_where(verb, options.where, "list only matches of a condition");
  completes(verb.add_option("--sort", options.query.sort_by, "sort by a key; -key: greatest first"), sort_keys)
      ->type_name("KEY")
      ->capture_default_str();
  verb.add_option("--columns", options.query.columns, "show these keys alone, such as val_loss,optimizer.lr")
      ->delimiter(',')
      ->allow_extra_args(false);
  verb.add_option("--limit", options.query.limit, "list at most this many")->check(CLI::Range(1, 1'000'000'000));
  verb.add_flag("--json", options.json, "print JSON");
}

const bool list_registered =
    register_verb(70, "list", "list runs and sweeps, newest first", add_list, list,
                  {.examples = {"list", "list basic --where 'epochs>=3' --sort train_loss --limit 5"},
                   .aliases = {"ls", "runs", "status", "ps"}}) &&
    register_schema("list", report::list_schema);

}  // namespace

}  // namespace ddp::commands
