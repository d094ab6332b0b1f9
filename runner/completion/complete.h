#pragma once

#include <map>
#include <string>
#include <vector>

#include "completion/candidate.h"

namespace CLI {
class App;
}

namespace ddp::completion {

// By a verb, or an option, that takes one of a few words: these.
using Choices = std::map<std::string, std::vector<std::string>>;

// What the last word may become: verbs and their options as the command line `app` knows them, experiment files, runs,
// settings. `words`: those behind the program's name, the last one perhaps empty.
Candidates complete(const CLI::App& app, const std::vector<std::string>& words, const Choices& choices);

}  // namespace ddp::completion
