#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commands/train/resumption.h"

namespace ddp::commands {

// What `run` was asked for, as far as one rank of a launcher's needs it.
struct LaunchedRun {
  std::string results;
  std::string run_id;
  std::vector<std::string> sets;
  std::string file;
};

// The run that these ranks go on with: the one they are given, or that which they had begun before the launcher started
// them again. Nothing: they begin one.
std::optional<record::RunDirectory> begun_run(const std::string& results, const std::string& run_id,
                                              const std::string& name, const launch::Launch& launch);

// As one rank that torchrun or srun started: trains, and returns the program's exit code. A group that was started
// again goes on with its run. Throws ddp::Error (usage) where it cannot.
int run_launched(const LaunchedRun& asked, config::Loaded loaded, const launch::Launch& launch);
int resume_launched(const Resumption& resumption, const launch::Launch& launch);

}  // namespace ddp::commands
