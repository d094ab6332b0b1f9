#pragma once

#include "commands/commands.h"
#include "launch/cluster/launcher.h"

namespace ddp::commands {

// Adds torchrun's launch flags to a verb, dashed and underscored as torchrun takes them.
void add_launch_flags(CLI::App& verb, launch::LaunchFlags& flags);

// Adds --max-restarts, to a verb that trains.
void add_max_restarts(CLI::App& verb, launch::LaunchFlags& flags);

}  // namespace ddp::commands
