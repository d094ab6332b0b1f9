#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/load.h"

namespace ddp::launch {

// The launch flags of `run` and `resume`, named as torchrun names them.
struct LaunchFlags {
  std::optional<int> nnodes;
  std::optional<int> node_rank;
  std::optional<int> nproc_per_node;
  std::string master_addr;
  std::optional<std::uint16_t> master_port;
  std::string rdzv_endpoint;  // "host:port": the two above in one
  bool standalone = false;    // one machine, even if a launcher started this process
  int max_restarts = 0;       // does not say who launches

  // Returns the given flags that say who launches.
  std::vector<std::string> given() const;
};

// How the ranks are started, and the role of this process.
struct Launch {
  enum class By {
    itself,    // this process forks the ranks of its machine
    torchrun,  // this process is one rank; the other ranks are processes of the same kind
    srun,
  };
  By by = By::itself;

  int nodes = 1;
  int node_rank = 0;
  std::optional<int> ranks_here = {};  // ranks per machine; not set: as many as device_pool has
  std::string master_host = {};        // empty: loopback
  std::uint16_t master_port = 0;       // 0: the kernel chooses (one machine only)
  std::string meeting_file = {};       // a file that all nodes see, in place of an address
  int max_restarts = 0;                // maximum number of restarts of ranks that this process forks

  // For a rank that a launcher started:
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  bool store_is_there = false;  // the launcher hosts the store at master_host:master_port
  int attempt = 0;              // number of times the launcher has restarted this group
  std::string id = {};          // identifies the launch across its attempts; empty: unknown

  // Returns whether a launcher restarted the group or Slurm requeued the job: no person gave the command again.
  bool restarted() const;
  bool one_rank() const { return by != By::itself; }
  // Returns whether this process runs rank 0, which reads weights and writes results.
  bool leads() const { return node_rank == 0 && rank == 0; }
};

// Chooses the launch. Flags win; without flags, torchrun's RANK and WORLD_SIZE; then a Slurm step of several tasks;
// then this process alone. Throws ddp::Error (usage) if the settings contradict each other.
Launch choose_launch(const LaunchFlags& flags);

// Throws ddp::Error (usage) if torchrun or srun started several processes of a command that trains in one.
void require_one_process(const std::string& verb, const std::string& remedy);

// Throws ddp::Error (usage) if `distributed.init_method` is none of "env://", "tcp://host:port" and "file:///path".
void require_init_method(const config::Loaded& loaded);

// If neither flags nor environment say where ranks meet, applies `distributed.init_method`: "tcp://host:port" or
// "file:///path". Throws ddp::Error (usage) if it is neither of the two, or if it is needed but gives no place.
void apply_init_method(const config::Loaded& loaded, Launch& launch);

}  // namespace ddp::launch
