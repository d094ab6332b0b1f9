#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "completion/candidate.h"

namespace ddp::completion {

// Returns a path from its typed form: "~/" is the user's home.
std::filesystem::path with_home(const std::string& path);

// Returns the folders, and the files with one of these endings, that begin with `typed`. Includes hidden ones only if
// `typed` begins its last part with a dot.
Candidates files(const std::string& typed, const std::vector<std::string_view>& endings);
Candidates folders(const std::string& typed);

// Returns the sorted names of the folders in a folder, and of links to folders, that begin with `typed`.
std::vector<std::string> folder_names(const std::filesystem::path& folder, std::string_view typed = "");

}  // namespace ddp::completion
