#pragma once

#include <filesystem>

#include "commands/sweep/prepare_sweep.h"

namespace ddp::commands {

// Prints what the sweep would do, for people or as JSON: its trials, what they run on, and about how long it takes.
// `results`: the results root that the sweep would be in.
void show_sweep(const PreparedSweep& sweep, const std::filesystem::path& results, bool json);

}  // namespace ddp::commands
