#pragma once

#include <filesystem>
#include <string>

#include "completion/candidate.h"

namespace ddp::completion {

// Returns the runs and sweeps under a results folder, by their names: "latest", a name, name/run-id, name/sweep-id/007,
// or an id of at least four characters. Returns folders if a path is typed.
Candidates runs(const std::filesystem::path& results, const std::string& typed);

// Returns the checkpoints from which a run can resume: "latest", "best", and their steps.
Candidates checkpoints(const std::filesystem::path& results, const std::string& run);

}  // namespace ddp::completion
