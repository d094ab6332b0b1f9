#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commands/commands.h"
#include "record/run_directory.h"

namespace ddp::commands {

// Goes on with the sweep in that directory. `data_changed`: its trials take files of data as they are now. `typed`: the
// command, where it takes --data-changed. Returns the program's exit code. Throws ddp::Error (usage) where it cannot.
int resume_sweep(const record::RunDirectory& directory, std::optional<int> jobs, bool data_changed = false,
                 const std::string& typed = "");

// Adds the option --jobs to a verb.
void add_jobs(CLI::App& verb, std::optional<int>& jobs);

}  // namespace ddp::commands
