#pragma once

#include <optional>
#include <string>

#include "commands/commands.h"
#include "commands/train/resumption.h"
#include "launch/run/train.h"

namespace ddp::commands {

// Returns the run that a command resumes although it usually begins one: the run of --run-id, or the run that these
// ranks had begun before their launcher restarted them. Nothing: the command begins a run.
std::optional<record::RunDirectory> begun_run(const std::string& results, const std::string& run_id,
                                              const std::string& name, const launch::Launch& launch);

// Adds --data-changed to a command that resumes from a checkpoint.
void add_data_changed(CLI::App& verb, bool& data_changed);

// Resumes in this role. Returns the program's exit code. Throws ddp::Error (usage) if it cannot.
int resume_run(const Resumption& resumption, const launch::LaunchRole& role);

}  // namespace ddp::commands
