#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/load/load.h"
#include "launch/plan/plan.h"

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
  int max_restarts = 0;       // these do not say who launches
  bool elastic = false;

  // Returns the given flags that say who launches.
  std::vector<std::string> given() const;
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
