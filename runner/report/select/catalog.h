#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/read/summary_view.h"

namespace ddp::report {

// What there is to look at, in no order; and, a line each, what could not be read and was passed over.
struct Catalog {
  std::vector<RunView> runs;
  std::vector<SweepView> sweeps;
  std::vector<std::string> problems;
};

// The runs and sweeps of a results root, results/<name>/<run-id>/; with a name, of that alone. Trials are not among
// them.
Catalog read_results(const std::filesystem::path& results, const std::string& name = "");

// The trials of a sweep that have begun.
Catalog read_trials(const std::filesystem::path& sweep);

// The run or sweep in one folder.
Catalog read_folder(const std::filesystem::path& folder);

}  // namespace ddp::report
