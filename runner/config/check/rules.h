#pragma once

#include "config/check/problems.h"
#include "config/components.h"
#include "config/experiment.h"
#include "config/text/node.h"

namespace ddp::config {

// Checks the rules among the keys of an experiment, which lists of options cannot express. `root` has the given keys
// and their places, `experiment` the values that passed the check.
void check_rules(const Node& root, const Experiment& experiment, const Components& components, Problems& problems);

// Returns the remedy for a `device_pool` of another type, with an example of each form.
std::string device_pool_forms();

// Checks the shape of `device_pool`: "auto", a count, a list of GPU indices or of "cpu", or groups of equal size.
void check_device_pool(const Node& pool, Problems& problems);

}  // namespace ddp::config
