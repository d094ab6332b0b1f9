#pragma once

#include <string>
#include <vector>

#include "config/load.h"
#include "launch/slurm/slurm_job.h"

namespace ddp::launch {

// Checks the devices of an experiment against the nodes that a job requests, on a machine that has none of them.
// Returns one warning per line about a job that works but wastes GPUs or is slow. Throws ddp::Error (usage) if the
// experiment cannot train on such nodes.
std::vector<std::string> check_devices(const config::Loaded& loaded, const SlurmJob& job);

}  // namespace ddp::launch
