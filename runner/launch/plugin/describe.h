#pragma once

#include <filesystem>
#include <vector>

#include "config/value.h"

namespace ddp::launch {

// Returns all components of a process that has loaded the plug-in in this folder, as config::Components writes them. A
// throw-away child loads it, so a crash in a constructor, or a name that is taken, ends only the child. Throws
// ddp::Error (usage) with the reason if the plug-in cannot be loaded.
config::Value describe_plugin(const std::filesystem::path& folder, const std::vector<std::filesystem::path>& sources);

}  // namespace ddp::launch
