#pragma once

#include <string>

namespace CLI {
class App;
}

namespace ddp::commands {

// The meaning of a command line of a user who knows other programs. Each function returns the remedy; empty: unknown.

// An unknown option of a command, such as "--device", with its value; "": without one.
std::string option_meant(const CLI::App& verb, const std::string& option, const std::string& value);

// A word that the command has no place for, such as "epochs=3".
std::string word_meant(const CLI::App& verb, const std::string& word);

}  // namespace ddp::commands
