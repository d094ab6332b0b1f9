#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/load.h"
#include "launch/plan/gpus.h"

namespace ddp::launch {

// Returns the devices of each rank of this machine, from `device_pool`, `devices_per_rank` and `parallel`. `ranks`: the
// number that the launcher starts here (--nproc-per-node); of "auto" or a count, the first `ranks` groups. Throws
// ddp::Error (usage) if this machine has too few devices, or if the pool cannot be divided.
std::vector<std::vector<std::string>> device_groups(const config::Loaded& loaded, const std::vector<Gpu>& gpus,
                                                    std::optional<int> ranks = {});

}  // namespace ddp::launch
