#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/load.h"
#include "launch/plan/gpus.h"

namespace ddp::launch {

// The devices of each rank of this machine, from `device_pool`, `devices_per_rank` and `parallel`. `ranks`: how many
// the launcher starts here (--nproc-per-node): the first so many of "auto" or of a count. Throws ddp::Error (usage)
// where this machine has too few, or the pool does not divide.
std::vector<std::vector<std::string>> device_groups(const config::Loaded& loaded, const std::vector<Gpu>& gpus,
                                                    std::optional<int> ranks = {});

}  // namespace ddp::launch
