#pragma once

#include <filesystem>
#include <vector>

#include "config/components.h"

namespace ddp::launch {

// Returns what can be named where the files of `sources` are loaded: the installed components, and those that the files
// register. Without files, the installed ones alone. The files are compiled into one library where they, or headers
// that they include from their own folders, have changed; it is kept in the cache folder. This process never loads it:
// a throw-away child tells what it registers. What the compiler prints goes to stderr. Throws ddp::Error (usage) where
// a file does not compile or cannot be loaded, and Stopped.
config::Components components_with(const std::vector<std::filesystem::path>& sources);

}  // namespace ddp::launch
