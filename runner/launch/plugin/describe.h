#pragma once

#include <filesystem>
#include <vector>

#include "config/value.h"

namespace ddp::launch {

// Returns every component of a process that has loaded the plug-in in this folder, as config::Components writes them. A
// throw-away child loads it, so that a constructor that crashes, or a name that is taken, ends the child alone. Throws
// ddp::Error (usage) that says why it cannot be loaded.
config::Value describe_plugin(const std::filesystem::path& folder, const std::vector<std::filesystem::path>& sources);

}  // namespace ddp::launch
