#pragma once

#include <map>
#include <string>
#include <vector>

#include "completion/candidate.h"

namespace CLI {
class App;
}

namespace ddp::completion {

// The allowed values of commands and options that have a fixed set of them, by command or option.
using Choices = std::map<std::string, std::vector<std::string>>;

// Returns the candidates for the last word: commands and options of the command line `app`, experiment files, runs,
// settings. `words`: the words behind the program's name; the last one may be empty.
Candidates complete(const CLI::App& app, const std::vector<std::string>& words, const Choices& choices);

}  // namespace ddp::completion
