#include "commands/cluster/training_job.h"

#include <algorithm>

#include "launch/plan/plan.h"
#include "report/text/words.h"

namespace ddp::commands {
namespace {

// Returns the GPUs that a node must have. A pool that names no devices trains on CPUs if the job requests no GPUs.
int needed_gpus(const config::Experiment& e, const TrainingJob& job) {
  if (e.device_pool.is_array()) return static_cast<int>(launch::gpus_of_list(e.device_pool));
  if (job.gpus_per_node.value_or(0) == 0 && e.transport().devices != "cuda") return 0;
  const int ranks = e.device_pool.is_number() ? e.device_pool.get<int>() : job.nproc_per_node.value_or(1);
  return ranks * static_cast<int>(e.devices_per_rank.value_or(1));
}

}  // namespace

std::vector<std::string> node_command(const TrainingJob& job, const NodeWords& w) {
  std::vector<std::string> words = {"run", w.experiment};
  const auto add = [&](const std::string& option, const std::string& value) {
    words.insert(words.end(), {option, value});
  };
  if (!w.nodes.empty()) {
    add("--nnodes", w.nodes);
    add("--node-rank", w.node_rank);
    add("--master-addr", w.master);
    add("--master-port", w.port);
  }
  if (job.nproc_per_node) add("--nproc-per-node", std::to_string(*job.nproc_per_node));
  if (job.elastic) words.emplace_back("--elastic");
  add("--results", w.results);
  add("--run-id", w.run_id);
  return words;
}

std::vector<std::string> check_devices(const config::Loaded& loaded, const TrainingJob& job) {
  const bool named = !loaded.experiment.device_pool.is_string();
  const int needed = needed_gpus(loaded.experiment, job);
  if (job.gpus_per_node && needed > *job.gpus_per_node) {
    const std::string what = "needs " + report::counted(needed, "GPU") + " on a node, and --gpus-per-node is " +
                             std::to_string(*job.gpus_per_node);
    throw !named && job.nproc_per_node ? usage_error(what, "--nproc-per-node") : loaded.error("device_pool", what);
  }
  // Without --gpus-per-node a pool decides only on the node: one of GPUs, or one of CPU ranks.
  if (!named && !job.gpus_per_node && !job.nproc_per_node && needed == 0) return {};
  const auto gpus = static_cast<std::size_t>(job.gpus_per_node.value_or(needed));
  const launch::Plan plan =
      launch::make_plan(loaded, std::vector<launch::Gpu>(gpus),
                        {.nodes = job.nodes, .ranks_here = job.nproc_per_node, .elastic = job.elastic});
  int used = 0;
  for (const auto& group : plan.groups)
    used += static_cast<int>(group.size() - std::count(group.begin(), group.end(), "cpu"));
  const std::string where = loaded.where("device_pool") + ": ";
  std::vector<std::string> warnings;
  if (used > 0 && !job.gpus_per_node) {
    warnings.push_back(where + "the ranks need " + report::counted(used, "GPU") +
                       " of each node, and the job requests none");
  }
  if (job.gpus_per_node && used < *job.gpus_per_node) {
    warnings.push_back(where + "the job requests " + report::counted(*job.gpus_per_node, "GPU") +
                       " of each node, and its ranks use " + std::to_string(used));
  }
  return warnings;
}

}  // namespace ddp::commands
