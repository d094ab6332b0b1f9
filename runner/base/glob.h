#pragma once

#include <string>
#include <vector>

namespace ddp {

// Returns the paths that a pattern with "*", "?" or "[…]" matches (glob(7)), sorted by their bytes. A path that exists
// is returned unchanged, even if its name contains these characters; so is a path without them. Returns an empty list
// if nothing matches.
std::vector<std::string> matching_paths(const std::string& path);

}  // namespace ddp
