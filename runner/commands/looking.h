#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/row.h"

namespace ddp::commands {

// What the commands that look at results share.

inline constexpr const char* kRunInWords = "a run directory, or name or name/run-id under the results root, or latest";

// The run or sweep that a person names. Throws ddp::Error (usage) where there is none, or it cannot be read.
report::Row find_result(const std::filesystem::path& results, const std::string& run);
// The one in a folder.
report::Row read_result(const std::filesystem::path& folder, const std::filesystem::path& results);

// Says what could not be read of a results folder and was passed over, a line each; of very many, the first.
void tell_problems(const std::vector<std::string>& problems);

}  // namespace ddp::commands
