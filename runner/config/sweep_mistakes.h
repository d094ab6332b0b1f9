#pragma once

#include "config/check/problems.h"
#include "config/sweep.h"

namespace ddp::config {

// Takes keys of the experiment out of the section [sweep], such as "lr" or "optimizer.lr", and adds each as a mistake.
void take_misplaced_keys(Node& section, const Components& components, Problems& problems);

// Adds the mistakes of keys in [sweep.parameters] that are known under another path: "lr" for "optimizer.lr".
void check_varied_keys(const std::vector<Parameter>& parameters, const std::vector<Option>& options,
                       const Components& components, Problems& problems);

// Adds the mistakes of the experiment itself, with each value of each parameter once. For a sweep whose [sweep] has
// mistakes: without them the check of all trials reports the same.
void check_experiment_of(const LoadedSweep& loaded, Problems& problems);

}  // namespace ddp::config
