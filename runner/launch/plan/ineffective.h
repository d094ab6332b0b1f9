#pragma once

#include <string>
#include <vector>

#include "launch/plan/plan.h"

namespace ddp::launch {

// Both return one line for each setting of an experiment that cannot take effect, and for a path of folders of sets:
// its place, the reason, and the remedy. This function uses the experiment file alone.
std::vector<std::string> without_effect(const config::Loaded& loaded);

// This function also uses the numbers of ranks, samples and steps, and the model.
std::vector<std::string> without_effect(const config::Loaded& loaded, const Plan& plan, const rank::Probe& probe,
                                        const Workload& workload);

}  // namespace ddp::launch
