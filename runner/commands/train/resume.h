#pragma once

#include <optional>
#include <string>

#include "commands/commands.h"
#include "commands/train/resumption.h"
#include "launch/run/training.h"

namespace ddp::commands {

// The run that a command which begins one goes on with instead: the one that --run-id names, or that which these ranks
// had begun before their launcher started them again. Nothing: it begins one.
std::optional<record::RunDirectory> begun_run(const std::string& results, const std::string& run_id,
                                              const std::string& name, const launch::Launch& launch);

// Adds --data-changed to a verb that goes on from a checkpoint.
void add_data_changed(CLI::App& verb, bool& data_changed);

// Goes on as this part of the launch. Returns the program's exit code. Throws ddp::Error (usage) where it cannot.
int resume_run(const Resumption& resumption, const launch::Part& part);

}  // namespace ddp::commands
