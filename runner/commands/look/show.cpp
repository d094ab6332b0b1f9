#include <iostream>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "base/url.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "report/text/run_page.h"
#include "runs/fetched.h"

namespace ddp::commands {

namespace {

struct ShowOptions {
  std::string run;
  std::string results = "results";
  bool json = false;
};

void show(const ShowOptions& o) {
  std::optional<runs::FetchedCopy> fetched;
  if (is_url(o.run)) fetched.emplace(o.run, runs::FetchedCopy::What::files);
  report::Row row = find_result(o.results, fetched ? fetched->path().string() : o.run);
  if (fetched) row.run = without_query(o.run);
  if (o.json) return report::print_page_as_json(row, std::cout);
  report::print_page(row, std::cout, report::terminal_of_stdout());
}

void add_show(CLI::App& verb, ShowOptions& o) {
  completes(verb.add_option("RUN", o.run, kRunInWords)->required(), completion::runs);
  add_results(verb, o.results);
  verb.add_flag("--json", o.json, "print JSON");
}

const bool show_registered = register_verb(80, "show", "show the results and files of a run or a sweep", add_show, show,
                                           {.examples = {"show latest", "show digits_sweep/latest/007"}}) &&
                             register_schema("show", report::show_schema);

}  // namespace

}  // namespace ddp::commands
