#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commands/cluster/slurm_job.h"
#include "commands/commands.h"
#include "config/load/load.h"

namespace CLI {
class Option;
}

namespace ddp::commands {

// The options of commands that write a job script.
struct SlurmOptions {
  SlurmJob job;
  std::string file;
  std::string results = "results";
  std::optional<int> signal_before;
  std::string output = "job.sbatch";
  bool force = false;
  bool submit = false;
};

// Adds the options of a training on several nodes, and the experiment file, to a command.
void add_training(CLI::App& verb, std::string& file, TrainingJob& job);

// Adds the options for Slurm's resources and for the script's file to a command. Returns them.
std::vector<CLI::Option*> add_slurm_requests(CLI::App& verb, SlurmOptions& options);

// Fills in the paths and checks the values in the script. Throws ddp::Error (usage).
void complete(SlurmOptions& options);

// Checks the devices of the job's runs against its nodes. Prints each warning once. Throws ddp::Error (usage).
void warn_of_devices(const std::vector<config::Loaded>& runs, const TrainingJob& job);

// Writes or prints the script, and submits it on request. Returns the program's exit code.
int write_job(const SlurmOptions& options);

}  // namespace ddp::commands
