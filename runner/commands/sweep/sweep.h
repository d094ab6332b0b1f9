#pragma once

#include <cstdint>
#include <optional>

#include "commands/commands.h"
#include "record/run_directory.h"

namespace ddp::commands {

// Resumes the sweep in that directory. `data_changed`: its trials accept changed data. `max_seeds`: of a race, its new
// limit; `json`: prints its result as JSON. Returns the program's exit code. Throws ddp::Error (usage) if it cannot
// resume.
int resume_sweep(const record::RunDirectory& directory, std::optional<int> jobs, bool data_changed = false,
                 std::optional<std::int64_t> max_seeds = {}, bool json = false);

}  // namespace ddp::commands
