#pragma once

#include <functional>

#include "config/sweep.h"

namespace ddp::config {

// Returns the settings of an experiment in which these parameters have these values.
using Compose = std::function<Node(const std::vector<Parameter>& parameters, const Point& point)>;

// The metric of a sweep must be measured in every trial: each combination of the values that decide this is looked at.
// A mistake is told at `place`, with the values for which it is one.
void check_sweep_metric(const Sweep& sweep, const Place& place, const Compose& compose, const Components& components,
                        Problems& problems);

}  // namespace ddp::config
