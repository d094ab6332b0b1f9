#pragma once

#include "launch/plan.h"

namespace ddp::commands {

// Prints a plan to stdout, for people or as JSON.
void show_plan(const launch::Plan& plan, const launch::Workload& workload, const rank::Probe& probe, bool json);

}  // namespace ddp::commands
