#pragma once

#include "launch/plan/ineffective_lines.h"
#include "launch/plan/plan.h"

namespace ddp::launch {

// Adds the settings of the scheduler that cannot take effect in the steps of the run.
void add_of_schedule(const Plan& plan, const Workload& workload, Ineffective& found);

// Adds a patience that the run cannot use up.
void add_of_stop(const config::Experiment& experiment, const Workload& workload, Ineffective& found);

}  // namespace ddp::launch
