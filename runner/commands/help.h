#pragma once

#include <string>
#include <vector>

#include "commands/commands.h"

namespace CLI {
class Option;
}

namespace ddp::commands {

// The texts about an option in --help, in the manual, and in errors about its value.

// Returns {"-o", "--output"}, or {"FILE"} for an argument. Of two spellings that differ in "-" and "_", the first one.
std::vector<std::string> option_names(const CLI::Option& option);
// Returns "TEXT"; empty: the option takes no value.
std::string option_value(const CLI::Option& option);
// Returns "an integer from 1 to 4096".
std::string accepted_by(const CLI::Option& option);
// Returns the option's description, with its limits, its default, and the options that it excludes.
std::string option_text(const CLI::Option& option);
// Returns "ddp-exp run [options] FILE" for a command, with the program's name as it was called.
std::string usage_of(const CLI::App& verb);
// Returns examples of a command, without the program's name: "run basic.toml".
const std::vector<std::string>& examples_of(const std::string& verb);

// Sets one style of help for the program and all of its commands: lines of at most 80 columns.
void give_help(CLI::App& app);

}  // namespace ddp::commands
