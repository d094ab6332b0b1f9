#pragma once

#include "commands/commands.h"

namespace ddp::commands {

// Has the program and all of its verbs print their help in one style, in lines of at most 80 columns.
void give_help(CLI::App& app);

}  // namespace ddp::commands
