#pragma once

#include <filesystem>
#include <optional>

#include "base/error.h"
#include "record/run_directory.h"

namespace ddp::commands {

// Returns the error for a completed run that has no checkpoint: it saved one at its end. Nothing: the run has a
// checkpoint, or has not completed.
std::optional<Error> all_saves_lost(const record::RunDirectory& run);

// `checkpoint`: the one from which the run resumes; empty: none. Throws the error above. If the run completed and its
// last checkpoint is gone, warns that steps are trained again, if this process `tells`.
void check_saves(const record::RunDirectory& run, const std::filesystem::path& checkpoint, bool tells);

}  // namespace ddp::commands
