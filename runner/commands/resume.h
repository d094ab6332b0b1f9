#pragma once

#include <string>
#include <vector>

#include "record/run_directory.h"

namespace ddp::commands {

// Goes on with a run, in its directory, from one of its checkpoints: "latest", "best" or a step. Returns the
// program's exit code. Throws ddp::Error (usage) where it cannot.
int resume_run(const record::RunDirectory& directory, const std::vector<std::string>& sets, const std::string& from);

}  // namespace ddp::commands
