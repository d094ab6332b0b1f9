#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/limits.h"
#include "config/length.h"
#include "config/load/load.h"
#include "launch/plan/devices.h"
#include "rank/probe.h"

namespace ddp::launch {

// How the ranks are started, and the role of this process.
struct Launch {
  bool one_rank = false;  // torchrun or srun started this process as one rank; else it forks the ranks of its machine

  int nodes = 1;
  int node_rank = 0;
  std::optional<int> ranks_here = {};  // ranks per machine; not set: as many as device_pool has
  std::string master_host = {};        // empty: loopback
  std::uint16_t master_port = 0;       // 0: the kernel chooses (one machine only)
  std::string meeting_file = {};       // a file that all nodes see, in place of an address
  int runs_here = 1;                   // on this machine at the same time: trials of a sweep
  int max_restarts = 0;                // maximum number of restarts of ranks that this process forks
  bool elastic = false;                // the run goes on without ranks and nodes that are lost

  // For a rank that a launcher started:
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  bool store_is_there = false;  // the launcher hosts the store at master_host:master_port
  int attempt = 0;              // number of times the launcher has restarted this group
  std::string id = {};          // identifies the launch across its attempts; empty: unknown

  // Returns whether a launcher restarted the group or Slurm requeued the job: no person gave the command again.
  bool restarted() const;
  // Returns whether this process runs rank 0, which reads weights and writes results.
  bool leads() const { return node_rank == 0 && rank == 0; }
};

// The nodes and ranks that compute a run.
struct World {
  int nodes = 1;
  int ranks_here = 1;  // of each node

  int ranks() const { return nodes * ranks_here; }
};

// Returns the world with most ranks that divide the logical ranks, if node i can start available[i] ranks. Node 0 is in
// it, and can start at least one.
World largest_world(std::int64_t logical_ranks, const std::vector<int>& available);

// The experiment with everything resolved, and the devices of each rank.
struct Plan {
  config::Experiment experiment;  // backend, threads, batch_size and device_pool are set
  config::Strategy strategy;
  std::set<std::string> libraries;               // that datasets need (base/installation.h)
  bool holds_data = false;                       // the dataset keeps tensors in memory that ranks can share
  std::vector<std::vector<std::string>> groups;  // by rank of this machine: "cpu" or "cuda:3", the first one leads
  std::vector<Gpu> gpus;                         // of this machine
  int first_rank = 0;                            // of this machine
  int all_ranks = 0;                             // of all machines
  Launch launch;

  int world_size() const { return all_ranks; }
  int logical_ranks() const { return experiment.logical(world_size()); }
  int ranks_here() const { return static_cast<int>(groups.size()); }
  bool is_here(int rank) const { return rank >= first_rank && rank < first_rank + ranks_here(); }
  bool uses_gpus() const;
  // The memory that a rank may take now to record a step for its replay.
  std::int64_t bytes_to_record() const { return memory_to_record(ranks_here() * launch.runs_here); }
  // Returns whether the ranks of this machine communicate through memory that this process maps before it forks them.
  bool shares_memory() const { return !strategy.one_process && experiment.transport().shares_memory; }
  // The devices of one rank of this machine, and of all of them, for people: "cuda:3 NVIDIA H100 (0000:65:00.0,
  // GPU-…)".
  std::string device_name(int local_rank) const;
  std::vector<std::string> device_names() const;
  std::string config_hash() const;
  // Returns the plan of a smaller world, in which this machine is node `place`, without those of its ranks that are
  // lost: numbers of groups.
  Plan in(const World& world, int place, const std::vector<int>& lost) const;
};

// Returns the first `count` numbers below `all` that are not lost.
std::vector<int> not_lost(int all, const std::vector<int>& lost, int count);

// Resolves everything that the file leaves open. Throws ddp::Error (usage) with the file's place if this machine cannot
// do what it requires. `global_batch_size`: the samples of a step of a resumed run, which stay constant for any number
// of ranks and micro-batches; not given: from the file.
Plan make_plan(const config::Loaded& loaded, std::vector<Gpu> gpus, const Launch& launch = {},
               std::optional<std::int64_t> global_batch_size = {});

// Throws ddp::Error (usage) if no machine could start this experiment, whatever its devices: the pool cannot be
// divided, the batch cannot be divided over it, the model or the backend does not fit it. An "auto" pool is known only
// on the machine, and not checked.
void require_fitting_machine(const config::Loaded& loaded);

// Returns what follows from the number of samples: steps, epochs, micro-batches. Throws ddp::Error (usage) if too few
// samples are left to train on, or if batches have a size that the model does not take: some models exported from
// Python take only certain sizes.
config::Length length_of_run(const config::Loaded& loaded, const Plan& plan, const rank::Probe& probe);

// Replaces init_from.path by the weights file of its target: a checkpoint, or a run under the results folder, by folder
// or name, which stands for its latest checkpoint. The path has no links: it names the same weights later. Throws
// ddp::Error (usage) if the target does not exist.
void find_weights(config::Loaded& loaded, const std::filesystem::path& results);

// Checks init_from without a results folder: the name of a run is not looked for. A file that does not exist is one of
// config::missing_files. Throws ddp::Error (usage).
void require_weights(const config::Loaded& loaded);

// Returns the file that find_weights found, or that the experiment names itself; empty: none. Throws ddp::Error (usage)
// if it does not exist.
std::filesystem::path weights_of(const config::Loaded& loaded);

}  // namespace ddp::launch
