#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ddp::launch {

// A training over the nodes of a Slurm cluster. What is empty or not given stays the cluster's default.
struct SlurmJob {
  // What Slurm is asked for.
  std::string job_name;
  std::string partition;
  std::string account;
  std::string time;  // as sbatch reads it: "30", "1:00:00", "2-12"
  int nodes = 1;
  std::optional<int> gpus_per_node;
  std::optional<int> cpus_per_task;  // of a node's one task, which is the parent of all its ranks
  bool exclusive = true;
  int signal_before = 120;  // seconds before its time is up at which the job is told to save and go back to the queue
  std::vector<std::string> modules;

  // What runs in it.
  std::filesystem::path program;     // ddp-exp; absolute, as are the next two
  std::filesystem::path experiment;  // its file
  std::filesystem::path results;
  std::string name;               // of the experiment, instead of the file's
  std::vector<std::string> sets;  // key=value
  std::optional<int> nproc_per_node;
  std::optional<std::uint16_t> port;  // where the nodes meet, on the first; not given: one of the job's own

  // Of a sweep: an array of jobs, a trial each.
  std::optional<int> trials;
  std::optional<int> at_once;  // at most so many of them run at a time
};

// What sbatch's --time means, in seconds; 0: no limit. Nothing where sbatch would refuse it.
// Formats: minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes, days-hours:minutes:seconds,
// UNLIMITED (man sbatch).
std::optional<std::int64_t> slurm_seconds(const std::string& time);

// The batch script: one launch a node, or one trial of a sweep. A launch that fails ends the others and gives the job
// its exit code; a job that is told to stop (USR2, TERM) has its launches save and goes back to the queue, to go on
// under the same run id. No text of the job may hold a line end.
std::string slurm_script(const SlurmJob& job);

}  // namespace ddp::launch
