#pragma once

#include <string>
#include <vector>

#include "commands/commands.h"

namespace ddp::commands {

// Texts about commands and options, for --help, the manual and errors.

std::vector<const CLI::App*> commands_of(const CLI::App& app);
// Returns {"-o", "--output"}, or {"FILE"} for an argument. Of two spellings that differ in "-" and "_", the first one.
std::vector<std::string> option_names(const CLI::Option& option);
// Returns "an integer from 1 to 4096".
std::string accepted_by(const CLI::Option& option);
// Returns "ddp-exp run [options] FILE" for a command, with the program's name as it was called.
std::string usage_of(const CLI::App& verb);

// Sets one style of help for the program and all of its commands: lines of at most 80 columns.
void give_help(CLI::App& app);

}  // namespace ddp::commands
