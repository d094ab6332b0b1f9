#pragma once

#include "commands/commands.h"
#include "launch/cluster/launcher.h"

namespace ddp::commands {

// Adds torchrun's launch flags to a command, each with dashes and with underscores as in torchrun.
void add_launch_flags(CLI::App& verb, launch::LaunchFlags& flags);

// Adds --max-restarts to a command that trains.
void add_max_restarts(CLI::App& verb, launch::LaunchFlags& flags);

}  // namespace ddp::commands
