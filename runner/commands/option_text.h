#pragma once

#include <string>
#include <vector>

#include "commands/commands.h"

namespace CLI {
class Option;
}

namespace ddp::commands {

// The texts about an option in --help, in the manual, and in errors about its value.

// {"-o", "--output"}, or {"FILE"} of an argument. Of two spellings that differ in "-" and "_" the first one.
std::vector<std::string> option_names(const CLI::Option& option);
// "TEXT"; empty: it takes no value.
std::string option_value(const CLI::Option& option);
// "an integer from 1 to 4096".
std::string accepted_by(const CLI::Option& option);
// Its purpose, with its limits, its default, and what it does not go with.
std::string option_text(const CLI::Option& option);
// "ddp-exp run [options] FILE", of a verb; the program is named as it was called.
std::string usage_of(const CLI::App& verb);
// Examples of a verb, without the program's name: "run basic.toml".
const std::vector<std::string>& examples_of(const std::string& verb);

}  // namespace ddp::commands
