#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/length.h"
#include "config/load.h"
#include "launch/cluster/launcher.h"
#include "launch/plan/gpus.h"
#include "rank/probe.h"

namespace ddp::launch {

// The experiment with everything resolved, and the devices of each rank.
struct Plan {
  config::Experiment experiment;  // backend, threads, batch_size and device_pool are set
  config::Strategy strategy;
  std::set<std::string> libraries;               // that datasets need (base/optional_library.h)
  bool holds_data = false;                       // the dataset keeps tensors in memory that ranks can share
  std::vector<std::vector<std::string>> groups;  // by rank of this machine: "cpu" or "cuda:3", the first one leads
  std::vector<Gpu> gpus;                         // of this machine
  int first_rank = 0;                            // of this machine
  int all_ranks = 0;                             // of all machines

  int world_size() const { return all_ranks; }
  int ranks_here() const { return static_cast<int>(groups.size()); }
  bool is_here(int rank) const { return rank >= first_rank && rank < first_rank + ranks_here(); }
  bool uses_gpus() const;
  // Returns whether this process forks the ranks of this machine, which communicate through memory that it maps first.
  bool shares_memory() const { return experiment.distributed.backend == "shm"; }
  // The devices of one rank of this machine, and of all of them, for people: "cuda:3 NVIDIA H100 (0000:65:00.0,
  // GPU-…)".
  std::string device_name(int local_rank) const;
  std::vector<std::string> device_names() const;
  std::string config_hash() const;
};

// Resolves everything that the file leaves open. Throws ddp::Error (usage) with the file's place if this machine cannot
// do what it requires. `global_batch_size`: the samples of a step of a resumed run, which stay constant for any number
// of ranks and micro-batches; not given: from the file.
Plan make_plan(const config::Loaded& loaded, std::vector<Gpu> gpus, const Launch& launch = {},
               std::optional<std::int64_t> global_batch_size = {});

// The quantities that follow from the number of samples: steps, epochs, micro-batches.
struct Workload {
  std::int64_t train_samples = 0;  // 0: endless
  std::int64_t validation_samples = 0;
  std::int64_t test_samples = 0;
  config::Length length;
};

// Throws ddp::Error (usage) if too few samples are left to train on.
Workload workload_of(const config::Loaded& loaded, const Plan& plan, const rank::Probe& probe);

}  // namespace ddp::launch
