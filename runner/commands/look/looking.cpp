#include "commands/look/looking.h"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/paths.h"
#include "record/run_directory.h"

namespace ddp::commands {

void add_results(CLI::App& verb, std::string& results, const std::string& doc) {
  verb.add_option("--results", results, doc)->capture_default_str()->each([](const std::string& given) {
    if (given.empty()) {
      throw usage_error("\"\" cannot be a results folder", "--results",
                        "leave --results out, or write --results . for this folder");
    }
  });
}

report::Row find_result(const std::filesystem::path& results, const std::string& run) {
  return read_result(record::RunDirectory::find(results, run).path(), results);
}

report::Row read_result(const std::filesystem::path& folder, const std::filesystem::path& results) {
  report::Row row{.run = report::name_of(folder, results), .what = {}};
  if (record::RunDirectory(folder).is_sweep()) {
    row.what = report::read_sweep(folder);
  } else {
    report::RunView run = report::read_run(folder);
    const record::RunDirectory own(paths::absolute(folder));
    if (own.is_trial()) report::add_trial_status(report::read_sweep(own.path().parent_path().parent_path()), run);
    row.what = std::move(run);
  }
  return row;
}

void add_once(std::vector<std::string>& all, const std::string& text) {
  if (std::find(all.begin(), all.end(), text) == all.end()) all.push_back(text);
}

void tell_problems(const std::vector<std::string>& problems) {
  constexpr std::size_t kTold = 10;
  for (std::size_t i = 0; i < std::min(kTold, problems.size()); ++i) log::warn(problems[i]);
  if (problems.size() > kTold) log::warn("and " + std::to_string(problems.size() - kTold) + " more warnings");
}

}  // namespace ddp::commands
