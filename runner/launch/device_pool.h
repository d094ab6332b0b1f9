#pragma once

#include <string>
#include <vector>

#include "config/load.h"
#include "launch/gpus.h"

namespace ddp::launch {

// The devices of each rank, from `device_pool`, `devices_per_rank` and `parallel`. Throws ddp::Error (usage)
// where this machine has too few, or the pool does not divide.
std::vector<std::vector<std::string>> device_groups(const config::Loaded& loaded, const std::vector<Gpu>& gpus);

}  // namespace ddp::launch
