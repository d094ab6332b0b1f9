#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/read/summary_view.h"

namespace ddp::report {

// The readable runs and sweeps, in no order, and a line for each thing that could not be read and was skipped.
struct Catalog {
  std::vector<RunView> runs;
  std::vector<SweepView> sweeps;
  std::vector<std::string> problems;
};

// Reads the runs and sweeps of a results folder, results/<name>/<run-id>/, without trials. With `name`, reads only that
// name.
Catalog read_results(const std::filesystem::path& results, const std::string& name = "");

// Reads the trials of a sweep that have begun.
Catalog read_trials(const std::filesystem::path& sweep);

// Reads the run or sweep in one folder.
Catalog read_folder(const std::filesystem::path& folder);

}  // namespace ddp::report
