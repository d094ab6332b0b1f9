#pragma once

#include <string>
#include <vector>

#include "launch/plan/plan.h"

namespace ddp::launch {

// Both return one line for each setting of an experiment that cannot take effect: its place and the reason. This
// function uses the experiment file alone.
std::vector<std::string> without_effect(const config::Loaded& loaded);

// This function also uses the numbers of ranks, samples and steps, and the model.
std::vector<std::string> without_effect(const config::Loaded& loaded, const Plan& plan, const rank::Probe& probe,
                                        const config::Length& length);

// Returns one line for each effect of the launch: CPU ranks train although Slurm gave this job GPUs, a launcher uses a
// part of device_pool, or no parent process runs notify.command.
std::vector<std::string> device_warnings(const config::Loaded& loaded, const Plan& plan, const Launch& launch);

}  // namespace ddp::launch
