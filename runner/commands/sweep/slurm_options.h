#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "commands/commands.h"
#include "launch/slurm/slurm_job.h"

namespace ddp::commands {

// What the commands that write a job script take.
struct SlurmOptions {
  launch::SlurmJob job;
  std::string file;
  std::string results = "results";
  std::optional<int> signal_before;
  std::string output = "job.sbatch";
  bool force = false;
  bool submit = false;
};

// Adds the options that say what Slurm is asked for, and where the script goes, to a verb.
void add_slurm_requests(CLI::App& verb, SlurmOptions& options);

// Fills in the paths, and checks what the script is made of. Throws ddp::Error (usage).
void complete(SlurmOptions& options);

// Writes the script, or prints it, and submits it where that was asked for. Returns the program's exit code.
int write_job(const SlurmOptions& options);

}  // namespace ddp::commands
