#pragma once

#include <functional>

#include "config/sweep.h"

namespace ddp::config {

// Returns the settings of an experiment in which these parameters have these values.
using Compose = std::function<Node(const std::vector<Parameter>& parameters, const Point& point)>;

// Checks that every trial measures the metric of the sweep, for each combination of the values that decide this, up to
// a limit. Adds a mistake at `place`, with the values that cause it.
void check_sweep_metric(const Sweep& sweep, const SourceRange& place, const Compose& compose,
                        const Components& components, Problems& problems);

}  // namespace ddp::config
