#pragma once

#include "commands/prepare_sweep.h"

namespace ddp::commands {

// Prints what the sweep would do, for people or as JSON: its trials, what they run on, and about how long it takes.
void show_sweep(const PreparedSweep& sweep, bool json);

}  // namespace ddp::commands
