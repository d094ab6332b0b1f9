#pragma once

#include <string>
#include <vector>

#include "launch/plan/plan.h"

namespace ddp::launch {

// Returns one line for each way in which a plan uses devices as nobody may want: CPU ranks in a job that Slurm gave
// GPUs, too many ranks for the cores, and a device_pool of which a launcher uses a part.
std::vector<std::string> device_warnings(const config::Loaded& loaded, const Plan& plan, const Launch& launch);

}  // namespace ddp::launch
