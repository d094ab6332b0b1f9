#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "commands/cluster/training_job.h"

namespace ddp::commands {

// A training on nodes of a Slurm cluster. Members that are empty or not set keep the cluster's default.
struct SlurmJob : TrainingJob {
  // The resources.
  std::string partition;
  std::string account;
  std::string time;                  // as sbatch reads it: "30", "1:00:00", "2-12"
  std::optional<int> cpus_per_task;  // of a node's one task, the parent of all its ranks
  bool exclusive = true;
  int signal_before = 120;  // seconds before the time limit at which Slurm signals the job to save and return to the
                            // queue
  std::vector<std::string> modules;

  // The command.
  std::filesystem::path program;     // ddp-exp; absolute, like the next two paths
  std::filesystem::path experiment;  // experiment file
  std::filesystem::path results;
  std::vector<std::string> tags;
  std::string note;

  // A sweep: an array of jobs, one trial each.
  std::optional<int> trials;
  std::optional<int> at_once;  // maximum number of concurrent trials
};

// Parses sbatch's --time into seconds; 0: no limit. Returns nothing if sbatch would refuse it.
// Formats: minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes, days-hours:minutes:seconds,
// UNLIMITED (man sbatch).
std::optional<std::int64_t> slurm_seconds(const std::string& time);

// Returns the batch script: one launch per node, or one trial of a sweep. If a launch fails, the script ends the others
// and exits with its exit code. On USR2 or TERM the launches save, and the job returns to the queue to continue under
// the same run id. No text of the job may contain a line end.
std::string slurm_script(const SlurmJob& job);

}  // namespace ddp::commands
