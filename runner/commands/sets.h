#pragma once

#include <string>
#include <vector>

#include "commands/commands.h"

namespace ddp::commands {

// Adds the option --set, which may be given again and again, to a verb.
void add_sets(CLI::App& verb, std::vector<std::string>& sets);

}  // namespace ddp::commands
