#include "report/select/catalog.h"

#include "base/error.h"
#include "config/text/source.h"
#include "record/run_directory.h"
#include "record/run_names.h"

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

}  // namespace ddp::report
