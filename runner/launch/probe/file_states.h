#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "config/experiment.h"
#include "config/value.h"

namespace ddp::launch {

// Returns the state (size, times and inode) of all files that an experiment reads, and of `more`: a changed content
// changes the state. Returns nothing if a folder holds too many files.
std::optional<config::Value> file_states(const config::Experiment& experiment,
                                         const std::vector<std::filesystem::path>& more = {});

}  // namespace ddp::launch
