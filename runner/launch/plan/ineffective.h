#pragma once

#include <string>
#include <vector>

#include "launch/plan/plan.h"

namespace ddp::launch {

// Both return one line for each setting of an experiment that cannot take effect: the place of the setting, the reason,
// and the remedy. This one uses the experiment file alone.
std::vector<std::string> without_effect(const config::Loaded& loaded);

// This one also uses the numbers of ranks, samples and steps, and what the model is.
std::vector<std::string> without_effect(const config::Loaded& loaded, const Plan& plan, const rank::Probe& probe,
                                        const Workload& workload);

}  // namespace ddp::launch
