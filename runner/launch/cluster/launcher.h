#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/load.h"

namespace ddp::launch {

// The launch flags of `run` and `resume`: torchrun's, with its words.
struct LaunchFlags {
  std::optional<int> nnodes;
  std::optional<int> node_rank;
  std::optional<int> nproc_per_node;
  std::string master_addr;
  std::optional<std::uint16_t> master_port;
  std::string rdzv_endpoint;  // "host:port": both of the above in one
  bool standalone = false;    // one machine, whatever else is set
  int max_restarts = 0;       // says nothing of who launches

  // Says one of them who launches?
  bool given() const;
};

// Who starts the ranks, and what this process is.
struct Launch {
  enum class By {
    itself,    // this process forks the ranks of its machine
    torchrun,  // this process is one rank; the others are processes like it
    srun,
  };
  By by = By::itself;

  int nodes = 1;
  int node_rank = 0;
  std::optional<int> ranks_here = {};  // processes a machine; not given: as many as device_pool has
  std::string master_host = {};        // empty: loopback
  std::uint16_t master_port = 0;       // 0: the kernel chooses (one machine only)
  std::string meeting_file = {};       // a file that all see, in place of an address
  int max_restarts = 0;                // how often ranks that this process forks are started again

  // Of a rank that was launched:
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  bool store_is_there = false;  // the launcher hosts the store at master_host:master_port
  int attempt = 0;              // how often the launcher has started this group again
  std::string id = {};          // names the launch over its attempts; empty: none does

  bool one_rank() const { return by != By::itself; }
  // Is this the process of rank 0, which reads weights and writes results?
  bool leads() const { return node_rank == 0 && rank == 0; }
};

// The launch that flags or, without any, the environment asks for: flags; else torchrun's RANK and WORLD_SIZE; else a
// Slurm step of several tasks; else this process alone. Throws ddp::Error (usage) where they do not go together.
Launch choose_launch(const LaunchFlags& flags);

// Where flags and environment do not say where ranks meet, `distributed.init_method` does: "tcp://host:port" or
// "file:///path". Throws ddp::Error (usage) where it is neither, or where it is needed and does not say.
void apply_init_method(const config::Loaded& loaded, Launch& launch);

}  // namespace ddp::launch
