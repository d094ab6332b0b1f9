#pragma once

#include <string>
#include <vector>

#include "commands/commands.h"

namespace ddp::commands {

// Adds the repeatable option --set to a command.
void add_sets(CLI::App& verb, std::vector<std::string>& sets);

// Returns a text as the value of a --set: a name such as 7 stays a text.
std::string as_toml(const std::string& text);

}  // namespace ddp::commands
