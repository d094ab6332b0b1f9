#pragma once

#include <string>

#include "completion/candidate.h"
#include "config/components.h"
#include "config/experiment.h"

namespace ddp::completion {

// What the argument of --set may become, "optimizer.lr=0.1": first a key, "optimizer." or "seed=", then, where there is
// a choice, its value. `chosen` names the components whose options count. `of_sweep`: [sweep] has keys too.
Candidates settings(const std::string& typed, const config::Components& components, const config::Experiment& chosen,
                    bool of_sweep);

}  // namespace ddp::completion
