#pragma once

#include <string>
#include <vector>

#include "commands/commands.h"

namespace ddp::commands {

// Adds the option --set, which may be given again and again, to a verb.
void add_sets(CLI::App& verb, std::vector<std::string>& sets);

// A text as the value of a --set, so that a name such as 7 stays one.
std::string as_toml(const std::string& text);

// The command with these --set, to be typed.
std::string with_sets(std::string command, const std::vector<std::string>& sets);

}  // namespace ddp::commands
