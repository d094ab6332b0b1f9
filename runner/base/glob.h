#pragma once

#include <string>
#include <vector>

namespace ddp {

// Returns the paths that a pattern with "*", "?" or "[…]" matches (glob(7)), sorted by their bytes. A path that exists
// as it stands is itself, also where its name has such characters; a path without them, too. Empty: nothing matches.
std::vector<std::string> matching_paths(const std::string& path);

}  // namespace ddp
