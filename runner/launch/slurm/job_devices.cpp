#include "launch/slurm/job_devices.h"

#include <algorithm>

#include "launch/plan/fitting_machine.h"
#include "launch/plan/plan.h"

namespace ddp::launch {
namespace {

std::string count_of(int number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

// Returns the GPUs that a node must have. A pool that names no devices trains on CPUs if the job requests no GPUs.
int needed_gpus(const config::Loaded& loaded, const SlurmJob& job) {
  const auto& e = loaded.experiment;
  if (e.device_pool.is_array()) return static_cast<int>(gpus_of_list(e.device_pool));
  if (!job.gpus_per_node && e.distributed.backend != "nccl") return 0;
  const int ranks = e.device_pool.is_number() ? e.device_pool.get<int>() : job.nproc_per_node.value_or(1);
  return ranks * static_cast<int>(e.devices_per_rank.value_or(1));
}

void require_gpus_of_job(const config::Loaded& loaded, const SlurmJob& job, int needed) {
  if (!job.gpus_per_node || needed <= *job.gpus_per_node) return;
  const std::string what =
      "needs " + count_of(needed, "GPU") + " on a node, and --gpus-per-node is " + std::to_string(*job.gpus_per_node);
  const std::string request = "give --gpus-per-node " + std::to_string(needed);
  const bool by_flag = job.nproc_per_node && loaded.experiment.device_pool.is_string();
  if (by_flag) throw usage_error(what, "--nproc-per-node", request + ", or a smaller --nproc-per-node");
  throw loaded.error("device_pool", what, request + ", or --set device_pool=auto for as many ranks as GPUs");
}

int used_gpus(const Plan& plan) {
  int gpus = 0;
  for (const auto& group : plan.groups) {
    gpus += static_cast<int>(std::count_if(group.begin(), group.end(), [](const auto& one) { return one != "cpu"; }));
  }
  return gpus;
}

// Without --gpus-per-node a pool decides only on the node: one of GPUs, or one of CPU ranks.
bool is_known(const config::Loaded& loaded, const SlurmJob& job, int needed) {
  return !loaded.experiment.device_pool.is_string() || job.gpus_per_node || job.nproc_per_node || needed > 0;
}

}  // namespace

std::vector<std::string> check_devices(const config::Loaded& loaded, const SlurmJob& job) {
  const int needed = needed_gpus(loaded, job);
  require_gpus_of_job(loaded, job, needed);
  if (!is_known(loaded, job, needed)) return {};
  const auto gpus = static_cast<std::size_t>(job.gpus_per_node.value_or(needed));
  const Plan plan = make_plan(loaded, std::vector<Gpu>(gpus), {.nodes = job.nodes, .ranks_here = job.nproc_per_node});
  const std::string where = loaded.where("device_pool") + ": ";
  const int used = used_gpus(plan);
  std::vector<std::string> warnings;
  if (used > 0 && !job.gpus_per_node) {
    warnings.push_back(where + "the ranks need GPUs, and the job requests none: give --gpus-per-node " +
                       std::to_string(needed) + ", unless a node of the cluster has its GPUs without a request");
  }
  if (job.gpus_per_node && used < *job.gpus_per_node) {
    warnings.push_back(where + "the job requests " + count_of(*job.gpus_per_node, "GPU") + " of each node, and its " +
                       count_of(plan.ranks_here(), used == 0 ? "CPU rank" : "rank") + " there " +
                       (plan.ranks_here() == 1 ? "uses " : "use ") + (used == 0 ? "none" : std::to_string(used)));
  }
  if (job.cpus_per_task && *job.cpus_per_task < plan.ranks_here()) {
    warnings.push_back("--cpus-per-task: " + count_of(plan.ranks_here(), "rank") + " of a node share " +
                       count_of(*job.cpus_per_task, "CPU") + "; give at least --cpus-per-task " +
                       std::to_string(plan.ranks_here()));
  }
  return warnings;
}

}  // namespace ddp::launch
