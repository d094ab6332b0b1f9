#include "launch/plan/device_warnings.h"

#include <cstdlib>

#include "base/limits.h"

namespace ddp::launch {
namespace {

constexpr int kMostRanksOfCore = 8;

// Returns the variable by which Slurm says that this job has GPUs; empty: none says so.
std::string slurms_gpus() {
  for (const char* name : {"SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "SLURM_GPUS_ON_NODE"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    // A count may be 0; the other variables list indexes.
    if (std::string(name) != "SLURM_GPUS_ON_NODE" || std::atoi(value) > 0) return name + std::string("=") + value;
  }
  return "";
}

}  // namespace

std::vector<std::string> device_warnings(const config::Loaded& loaded, const Plan& plan, const Launch& launch) {
  std::vector<std::string> lines;
  const config::Value& pool = loaded.experiment.device_pool;
  const int ranks = plan.ranks_here();
  const std::string gpus = slurms_gpus();
  if (!pool.is_array() && plan.gpus.empty() && !gpus.empty()) {
    lines.push_back("Slurm gave this job GPUs (" + gpus + "), but none is visible: " + std::to_string(ranks) +
                    " CPU ranks train; nvidia-smi in the job shows whether the driver sees them");
  }
  const int cores = usable_cores();
  if (!plan.uses_gpus() && ranks > kMostRanksOfCore * cores) {
    lines.push_back(loaded.where("device_pool") + ": " + std::to_string(ranks) + " ranks share " +
                    std::to_string(cores) + (cores == 1 ? " core" : " cores"));
  }
  if (launch.ranks_here && !plan.strategy.all_devices && pool.is_number() && pool.get<int>() > ranks) {
    lines.push_back(loaded.where("device_pool") + ": \"device_pool\" is " + pool.dump() + ", and the launcher starts " +
                    std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks") +
                    " on this machine; start as many, or use device_pool = \"auto\"");
  }
  return lines;
}

}  // namespace ddp::launch
