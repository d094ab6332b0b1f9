#pragma once

#include <string>

#include "completion/candidate.h"
#include "config/components.h"
#include "config/experiment.h"

namespace ddp::completion {

// Returns the candidates for the argument of --set, "optimizer.lr=0.1": first a key, "optimizer." or "seed=", then its
// value if there is a choice. `chosen` names the components with their options. `of_sweep`: includes the keys of
// [sweep].
Candidates settings(const std::string& typed, const config::Components& components, const config::Experiment& chosen,
                    bool of_sweep);

}  // namespace ddp::completion
