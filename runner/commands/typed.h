#pragma once

#include <string>

#include "commands/commands.h"

namespace ddp::commands {

// Returns the parsed command line of a command, quoted for a shell: "ddp-exp resume basic --set epochs=12". A repeated
// option is listed at its first place.
std::string typed_command(const CLI::App& verb);

}  // namespace ddp::commands
