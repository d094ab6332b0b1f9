#pragma once

#include <filesystem>
#include <vector>

#include "config/components.h"

namespace ddp::launch {

// Returns the components that an experiment can name: the installed ones, and those registered by the files of
// `sources`. The files are compiled into one library if they, or headers that they include from their own folders, have
// changed; it is kept in the cache folder. This process never loads the library: a throw-away child reports its
// components. The compiler's output goes to stderr. Throws ddp::Error (usage) if a file does not compile or cannot be
// loaded, and Stopped.
config::Components components_with(const std::vector<std::filesystem::path>& sources);

}  // namespace ddp::launch
