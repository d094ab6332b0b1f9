#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/own_command.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "record/run_directory.h"
#include "report/select/comparison.h"
#include "report/text/paper_table.h"

namespace ddp::commands {
namespace {

struct CompareOptions {
  std::vector<std::string> runs;
  std::string results = "results";
  std::string format;  // of a table for a paper; empty: none
  std::vector<std::string> metrics;
  bool json = false;
};

// A sweep stands for its trials that have begun, best first; so does a cross-validation without a result.
std::vector<report::Row> runs_of(const CompareOptions& o) {
  std::vector<report::Row> runs;
  for (const std::string& name : o.runs) {
    report::Row row = find_result(o.results, name);
    const report::SweepView* sweep = row.as_sweep();
    if (sweep == nullptr || sweep->result) {
      runs.push_back(std::move(row));
      continue;
    }
    for (const report::TrialView& trial : sweep->ranking) {
      const record::RunDirectory folder(trial.folder);
      if (folder.begun() || folder.is_sweep()) runs.push_back(read_result(trial.folder, o.results));
    }
  }
  return runs;
}

void compare(const CompareOptions& o) {
  auto runs = runs_of(o);
  if (runs.size() < 2) {
    throw usage_error("compare needs two or more runs, or a sweep whose trials have begun", "",
                      own_command("list") + " shows the names of all runs");
  }
  if (!o.format.empty()) return report::print_paper_table(runs, o.metrics, o.format, std::cout);
  if (!o.metrics.empty()) throw usage_error("belongs to a table for a paper", "--metrics", "give --format too");
  const report::Comparison comparison = report::compare(std::move(runs));
  if (o.json) {
    report::print_comparison_as_json(comparison, std::cout);
  } else {
    report::print_comparison(comparison, std::cout, report::terminal_of_stdout());
  }
}

void diff(const CompareOptions& o) {
  std::vector<report::Row> runs;
  for (const std::string& name : o.runs) {
    record::RunDirectory::find(o.results, name).require_run();
    runs.push_back(find_result(o.results, name));
  }
  const report::Comparison comparison = report::compare(std::move(runs));
  if (o.json) {
    report::print_difference_as_json(comparison, std::cout);
  } else {
    report::print_difference(comparison, std::cout, report::terminal_of_stdout());
  }
}

void add_options(CLI::App& verb, CompareOptions& options) {
  add_results(verb, options.results);
  verb.add_flag("--json", options.json, "print JSON");
}

void add_compare(CLI::App& verb, CompareOptions& options) {
  add_options(verb, options);
  add_paper_format(verb, options.format, options.metrics);
  completes(
      verb.add_option("RUN", options.runs, std::string(kRunInWords) + "; a sweep stands for its trials")->required(),
      completion::runs);
}

const bool compare_registered =
    register_verb(90, "compare", "show runs side by side: differences, metrics, loss curves", add_compare, compare,
                  {.examples = {"compare basic faster digits"}}) &&
    register_schema<report::Comparison>("compare", "compare RUN… --json");

void add_diff(CLI::App& verb, CompareOptions& options) {
  add_options(verb, options);
  completes(verb.add_option("RUN", options.runs, kRunInWords)->required()->expected(2), completion::runs);
}

const bool diff_registered = register_verb(100, "diff", "show the differences of two runs", add_diff, diff,
                                           {.examples = {"diff basic faster"}}) &&
                             register_schema<report::Comparison>("diff", "diff A B --json");

}  // namespace

}  // namespace ddp::commands
