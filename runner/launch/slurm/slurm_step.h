#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ddp::launch {

// A task of a Slurm job step, as srun tells it by the environment.
struct SlurmStep {
  int task = 0;  // among all tasks of the step
  int tasks = 1;
  int local_task = 0;  // among those of this node
  int tasks_here = 1;
  std::string first_host;
  std::uint16_t port = 0;  // the same on every task; of another step of the cluster, most likely another
};

// Nothing outside a step. A batch script is no step, though it inherits some of the variables.
// Throws ddp::Error (usage) where the environment contradicts itself.
std::optional<SlurmStep> slurm_step();

// The first host of a Slurm host list: "gpu[07-09,12],login" is gpu07.
std::string first_host_of(const std::string& host_list);

// What a node's entry of SLURM_STEP_TASKS_PER_NODE says: of "2(x3),1", nodes 0 to 2 have 2. 0: it does not say.
int tasks_of_node(const std::string& tasks_per_node, int node);

}  // namespace ddp::launch
