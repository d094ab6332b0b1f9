#pragma once

#include <string>

#include "base/error.h"
#include "commands/commands.h"

namespace CLI {
class ParseError;
}

namespace ddp::commands {

// Why a command line was refused, in the words of all other errors.
Error wrong_line(const CLI::App& app, const CLI::ParseError& error);

// Throws ddp::Error (usage) where there is no such verb: with the one that does it here, where the word is one that
// other programs use, or with the nearest one.
void require_known_verb(const CLI::App& app, const std::string& word);

}  // namespace ddp::commands
