#pragma once

#include "config/check/problems.h"
#include "config/components.h"
#include "config/experiment.h"
#include "config/text/node.h"

namespace ddp::config {

// What no list of options can say: how the keys of an experiment go together. `root` tells what was given
// and where, `experiment` holds the values that passed the check.
void check_rules(const Node& root, const Experiment& experiment, const Components& components, Problems& problems);

// The shape of `device_pool`: "auto", a count, a list of GPU indices or of "cpu", or equal groups of them.
void check_device_pool(const Node& pool, Problems& problems);

}  // namespace ddp::config
