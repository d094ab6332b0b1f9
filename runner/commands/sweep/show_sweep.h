#pragma once

#include <filesystem>

#include "commands/sweep/prepare_sweep.h"

namespace ddp::commands {

// Prints the planned sweep for people or as JSON: its trials, their devices, and an estimate of the time. `results`:
// the results folder of the sweep.
void show_sweep(const PreparedSweep& sweep, const std::filesystem::path& results, bool json);

}  // namespace ddp::commands
