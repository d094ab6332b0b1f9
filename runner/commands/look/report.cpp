#include "commands/look/report.h"

#include <ctime>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/own_command.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "commands/use/unnamed_output.h"
#include "launch/library/libtorch.h"
#include "launch/start/held_data.h"
#include "record/file/atomic_file.h"
#include "record/run_directory.h"
#include "record/summary.h"
#include "report/html/page.h"

namespace ddp::commands {
namespace fs = std::filesystem;

namespace {

const std::string kProgram = std::string("ddp-exp ") + launch::kVersion;

void write(const fs::path& file, const std::string& page, const std::string& option) try {
  record::write_atomically(file, page);
} catch (const Error& error) {
  throw usage_error(error.summary(), error.where(), "use another file: " + option);
}

}  // namespace

void require_name(const fs::path& file, const std::string& option, const std::string& ending) {
  refuse_folder(file, "page" + ending);
  require_folder_of(file);
  if (file.extension() == ending) return;
  throw usage_error("is no name for this file: it must end in " + ending, file.string(),
                    "for example " + option + " " + path_word(fs::path(file).replace_extension(ending)));
}

void write_preview(const fs::path& page, const runs::Prepared& prepared, const config::DataDescription& description) {
  const auto& e = prepared.plan.experiment;
  const config::Value data = {{"version", 1},
                              {"kind", "preview"},
                              {"name", e.name},
                              {"dataset", e.dataset.name},
                              {"written", record::timestamp(std::time(nullptr))},
                              {"program", kProgram},
                              {"problems", prepared.warnings},
                              {"data", config::written(description)},
                              {"preview", launch::preview_data(*prepared.library, prepared.plan, prepared.data)}};
  write(page, report::page(data), "--preview FILE.html");
}

void write_sets(const fs::path& file, const runs::Prepared& prepared) {
  write(file, launch::sets_of_rows(*prepared.library, prepared.plan, prepared.data), "--sets FILE.csv");
}

namespace {

constexpr const char* kPage = "report.html";

struct ReportOptions {
  std::vector<std::string> runs;
  std::string results = "results";
  std::string output;
  bool json = false;
};

// Returns the data of the named results, and the folder of their page: the sweep's, or the first run's.
config::Value gather(const ReportOptions& options, fs::path& home) {
  std::vector<fs::path> runs;
  report::Histories histories;
  for (const std::string& name : options.runs) {
    const auto directory = record::RunDirectory::find(options.results, name);
    if (runs.empty()) home = directory.path();
    if (directory.is_sweep() && options.runs.size() == 1)
      return report::sweep_data(directory.path(), kProgram, histories);
    directory.require_run();
    runs.push_back(directory.path());
  }
  return report::runs_data(runs, kProgram, histories);
}

void report(const ReportOptions& options) {
  if (!options.output.empty()) require_name(options.output, "--output", ".html");
  fs::path home;
  config::Value data = gather(options, home);
  for (const auto& problem : data["problems"]) log::warn(problem.get<std::string>());
  const fs::path file = options.output.empty() ? home / kPage : fs::path(options.output);
  if (!options.json || !options.output.empty()) write(file, report::page(data), "--output FILE");
  if (options.runs.size() > 1 && options.output.empty() && !options.json) {
    log::info("a page about " + std::to_string(options.runs.size()) +
              " runs, in the folder of the first; --output FILE puts it elsewhere");
  }
  if (options.json) {
    std::cout << data.dump(-1, ' ', false, config::Value::error_handler_t::replace) << "\n";
  } else {
    std::cout << file.string() << "\n";
  }
}

}  // namespace

fs::path write_sweep_report(const fs::path& sweep) {
  report::Histories histories;
  const config::Value data = report::sweep_data(sweep, kProgram, histories);
  const fs::path file = sweep / kPage;
  record::write_atomically(file, report::page(data));
  return file;
}

namespace {

void add_report(CLI::App& verb, ReportOptions& options) {
  completes(verb.add_option("RUN", options.runs, "one run, several runs to compare, or a sweep")->required(),
            completion::runs);
  add_results(verb, options.results);
  names_output(verb.add_option("--output", options.output,
                               "file of the page; default: report.html in the folder of the sweep or first run"));
  verb.add_flag("--json", options.json, "print the page's data as JSON; write the page only with --output");
}

const bool report_registered =
    register_verb(140, "report", "write report.html, a page about a run, several runs or a sweep", add_report, report,
                  {.examples = {"report digits", "report basic faster --output both.html"}}) &&
    register_schema("report", report::report_schema);

}  // namespace

}  // namespace ddp::commands
