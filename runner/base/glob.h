#pragma once

#include <string>
#include <vector>

namespace ddp {

// Returns the paths that a pattern with "*", "?" or "[…]" matches (glob(7)), sorted by their bytes. A path that exists
// is returned unchanged, even if its name contains these characters; so is a path without them. Returns an empty list
// if nothing matches.
std::vector<std::string> matching_paths(const std::string& path);

// Returns the remedy for a folder in the place of a file: a pattern for the files in it whose names have one of these
// endings, such as ".csv"; of several endings, the most frequent one. `endings` are the ones that the caller reads.
std::string files_of_folder_in_words(const std::string& folder, const std::vector<std::string>& endings);

}  // namespace ddp
