#pragma once

#include <map>
#include <string>
#include <vector>

#include "completion/candidate.h"

namespace CLI {
class App;
}

namespace ddp::completion {

// What the last word may become: verbs and their options as the command line `app` knows them, experiment files, runs,
// settings. `words`: those behind the program's name, the last one perhaps empty. `choices`: of verbs whose argument is
// one of a few words.
Candidates complete(const CLI::App& app, const std::vector<std::string>& words,
                    const std::map<std::string, std::vector<std::string>>& choices);

}  // namespace ddp::completion
