#pragma once

#include "commands/commands.h"

namespace ddp::commands {

// Sets one style of help for the program and all of its commands: lines of at most 80 columns.
void give_help(CLI::App& app);

}  // namespace ddp::commands
