#include <iostream>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "commands/commands.h"
#include "commands/options.h"
#include "report/text/run_page.h"

namespace ddp::commands {

namespace {

void add_show(CLI::App& verb, int&) {
  struct Options {
    std::string run;
    std::string results = "results";
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  completes(verb.add_option("RUN", options->run, kRunInWords)->required(), completion::runs);
  add_results(verb, options->results);
  verb.add_flag("--json", options->json, "print JSON");
  verb.callback([options] {
    const report::Row row = find_result(options->results, options->run);
    if (options->json) {
      report::print_page_as_json(row, std::cout);
    } else {
      report::print_page(row, std::cout, report::terminal_of_stdout());
    }
  });
}

const bool show_registered = register_verb(80, "show", "show the results and files of a run or a sweep", add_show,
                                           {.examples = {"show latest", "show digits_sweep/latest/007"}}) &&
                             register_schema("show", report::show_schema);

}  // namespace

}  // namespace ddp::commands
