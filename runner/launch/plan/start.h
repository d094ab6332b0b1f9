#pragma once

#include <filesystem>

#include "config/load.h"

namespace ddp::launch {

// Replaces init_from.path by the weights file of its target: a checkpoint, or a run under the results folder, by folder
// or name, which stands for its latest checkpoint. The path has no links: it names the same weights later. Throws
// ddp::Error (usage) if the target does not exist.
void find_weights(config::Loaded& loaded, const std::filesystem::path& results);

// Checks init_from without a results folder: the name of a run is not looked for. A file that does not exist is one of
// config::missing_files. Throws ddp::Error (usage).
void require_weights(const config::Loaded& loaded);

// Returns the file that find_weights found, or that the experiment names itself; empty: none. Throws ddp::Error (usage)
// if it does not exist.
std::filesystem::path weights_of(const config::Loaded& loaded);

}  // namespace ddp::launch
