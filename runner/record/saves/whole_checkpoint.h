#pragma once

#include <filesystem>

#include "config/metric.h"

// Checkpoints whose files all match state.json. To find one, all its files are read.
namespace ddp::record {

// Returns the newest whole checkpoint; warns about newer ones that are damaged. Returns an empty path if the run has no
// complete checkpoint yet. Throws ddp::Error (usage) if it has some and all of them are damaged.
std::filesystem::path newest_whole(const std::filesystem::path& checkpoints);

// Returns the whole checkpoint with the best value of the metric, or the newest whole one if none has a value; warns
// about better ones that are damaged. Returns and throws the same as newest_whole().
std::filesystem::path best_whole(const std::filesystem::path& checkpoints, const config::Metric& metric);

// Throws ddp::Error (usage) if the checkpoint is damaged. Its remedy names another checkpoint, if one is whole.
void require_whole(const std::filesystem::path& checkpoint);

}  // namespace ddp::record
