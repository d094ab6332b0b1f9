#pragma once

#include <string>

#include "base/error.h"
#include "commands/commands.h"

namespace CLI {
class ParseError;
}

namespace ddp::commands {

// Returns the error of a refused command line, in the form of all other errors.
Error wrong_line(const CLI::App& app, const CLI::ParseError& error);

// Throws ddp::Error (usage) if the word is no command. The remedy is the equivalent command if other programs use the
// word, or the nearest name.
void require_known_verb(const CLI::App& app, const std::string& word);

}  // namespace ddp::commands
