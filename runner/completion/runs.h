#pragma once

#include <filesystem>
#include <string>

#include "completion/candidate.h"

namespace ddp::completion {

// The runs and sweeps under a results root as one names them: "latest", a name, name/run-id, name/sweep-id/007, an
// id of at least four characters; and folders, where a path is typed.
Candidates runs(const std::filesystem::path& results, const std::string& typed);

// What a run can go on from: "latest", "best", and the steps of its checkpoints.
Candidates checkpoints(const std::filesystem::path& results, const std::string& run);

}  // namespace ddp::completion
