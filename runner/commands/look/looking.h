#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/select/row.h"

namespace ddp::commands {

// What the commands that look at results share.

inline constexpr const char* kRunInWords =
    "a run's folder; name, name/run-id, name/sweep-id/007 or latest under the results root; or a part of an id";

// The run or sweep that a person names. Throws ddp::Error (usage) where there is none, or it cannot be read.
report::Row find_result(const std::filesystem::path& results, const std::string& run);
// The one in a folder.
report::Row read_result(const std::filesystem::path& folder, const std::filesystem::path& results);

// Adds a text that is not among them yet.
void add_once(std::vector<std::string>& all, const std::string& text);

// Prints warnings, a line each; of very many, the first.
void tell_problems(const std::vector<std::string>& problems);

}  // namespace ddp::commands
