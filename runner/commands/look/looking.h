#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/select/row.h"

namespace ddp::commands {

// Shared code of the commands that show results.

inline constexpr const char* kRunInWords =
    "a run's folder; name, name/run-id, name/sweep-id/007 or latest under the results folder; or a part of an id";

// Adds --results to a command: the folder that contains all runs and sweeps. An empty text is refused.
void add_results(CLI::App& verb, std::string& results,
                 const std::string& doc = "results folder: the folder of all runs and sweeps");

// Returns the run or sweep with this name. Throws ddp::Error (usage) if it does not exist or cannot be read.
report::Row find_result(const std::filesystem::path& results, const std::string& run);
// Returns the run or sweep in this folder.
report::Row read_result(const std::filesystem::path& folder, const std::filesystem::path& results);

// Adds a text unless the list has it.
void add_once(std::vector<std::string>& all, const std::string& text);

// Prints warnings, one per line; of very many, only the first.
void tell_problems(const std::vector<std::string>& problems);

}  // namespace ddp::commands
