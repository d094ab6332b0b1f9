#pragma once

#include <string>

#include "commands/commands.h"

namespace ddp::commands {

// Returns the command line of a verb that was parsed, in words for a shell: "ddp-exp resume basic --set epochs=12".
// An option that was given several times stands where it was given first.
std::string typed_command(const CLI::App& verb);

}  // namespace ddp::commands
