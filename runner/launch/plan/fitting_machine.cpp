#include "launch/plan/fitting_machine.h"

#include <algorithm>

#include "launch/plan/plan.h"

namespace ddp::launch {
namespace {

constexpr std::int64_t kMostGpus = 4096;

// A number of ranks stands for GPUs or for CPUs: only NCCL needs GPUs.
std::int64_t needed_gpus(const config::Experiment& e) {
  if (e.device_pool.is_array()) return gpus_of_list(e.device_pool);
  if (e.distributed.backend != "nccl") return 0;
  const auto ranks = std::min(kMostGpus + 1, e.device_pool.get<std::int64_t>());
  return ranks * std::min(kMostGpus + 1, e.devices_per_rank.value_or(1));
}

}  // namespace

std::int64_t gpus_of_list(const config::Value& pool) {
  std::int64_t gpus = 0;
  for (const config::Value& entry : pool) {
    if (entry.is_array()) gpus = std::max(gpus, gpus_of_list(entry));
    if (entry.is_number()) gpus = std::max(gpus, entry.get<std::int64_t>() + 1);
  }
  return gpus;
}

void require_fitting_machine(const config::Loaded& loaded) {
  if (loaded.experiment.device_pool.is_string()) return;
  const std::int64_t gpus = needed_gpus(loaded.experiment);
  if (gpus <= kMostGpus) make_plan(loaded, std::vector<Gpu>(static_cast<std::size_t>(gpus)));
}

}  // namespace ddp::launch
