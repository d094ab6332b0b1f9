#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ddp::launch {

// A task of a Slurm job step, from srun's environment.
struct SlurmStep {
  int task = 0;  // among all tasks of the step
  int tasks = 1;
  int local_task = 0;  // among this node's tasks
  int tasks_here = 1;
  std::string first_host;
  std::uint16_t port = 0;  // the same on every task; most likely different for other steps of the cluster
};

// Returns nothing outside a step. A batch script is no step, although it inherits some of the variables. Throws
// ddp::Error (usage) if the environment contradicts itself.
std::optional<SlurmStep> slurm_step();

// Returns the first host of a Slurm host list: "gpu[07-09,12],login" is gpu07.
std::string first_host_of(const std::string& host_list);

// Returns a node's number of tasks from SLURM_STEP_TASKS_PER_NODE: with "2(x3),1", nodes 0 to 2 have 2. 0: not given.
int tasks_of_node(const std::string& tasks_per_node, int node);

}  // namespace ddp::launch
