#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "completion/candidate.h"

namespace ddp::completion {

// A path as it is typed: "~/" is the user's home.
std::filesystem::path with_home(const std::string& path);

// The folders, and the files whose names end so, that `typed` may become. Hidden ones only where a dot is typed.
Candidates files(const std::string& typed, const std::vector<std::string_view>& endings);
Candidates folders(const std::string& typed);

// The names of the folders in a folder, links to folders too, that begin with `typed`, sorted.
std::vector<std::string> folder_names(const std::filesystem::path& folder, std::string_view typed = "");

}  // namespace ddp::completion
