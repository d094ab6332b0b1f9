#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/load.h"
#include "config/sweep.h"

namespace ddp::launch {

// Read an experiment, or a sweep, as config::load and config::load_sweep do, together with the components that the
// files of its key `sources` register; components_with compiles them if needed. Throw as these functions do; an error
// about a missing source shows its line.
config::Loaded load_experiment(const std::filesystem::path& file, const std::vector<std::string>& sets = {});
config::LoadedSweep load_sweep(const std::filesystem::path& file, const std::vector<std::string>& sets = {});

}  // namespace ddp::launch
