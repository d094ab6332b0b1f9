#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commands/commands.h"
#include "record/run_directory.h"

namespace ddp::commands {

// Resumes the sweep in that directory. `data_changed`: its trials accept changed data. `typed`: this command, if it can
// take --data-changed. Returns the program's exit code. Throws ddp::Error (usage) if it cannot resume.
int resume_sweep(const record::RunDirectory& directory, std::optional<int> jobs, bool data_changed = false,
                 const std::string& typed = "");

// Adds the option --jobs to a command.
void add_jobs(CLI::App& verb, std::optional<int>& jobs);

}  // namespace ddp::commands
