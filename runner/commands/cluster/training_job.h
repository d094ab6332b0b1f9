#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/load/load.h"

namespace ddp::commands {

// A training on the nodes of a cluster, with one launch per node.
struct TrainingJob {
  std::string job_name;
  int nodes = 1;
  std::optional<int> gpus_per_node;   // not set: what the cluster gives
  std::optional<int> nproc_per_node;  // not set: what device_pool says
  bool elastic = false;               // the job goes on without a node that fails, except the first
  std::optional<std::uint16_t> port;  // of the meeting on the first node
  std::string name;                   // of the experiment, instead of the file's
  std::vector<std::string> sets;      // key=value
};

// The words of a node's command that the cluster knows, each as it stands in the cluster's script.
struct NodeWords {
  std::string experiment;
  std::string nodes = {};  // empty: the job has one node, and it meets no other
  std::string node_rank = {};
  std::string master = {};
  std::string port = {};
  std::string results;
  std::string run_id;
};

// Returns the words with which a node starts its ranks, behind the program. They name the run by its id: the same
// command resumes it.
std::vector<std::string> node_command(const TrainingJob& job, const NodeWords& words);

// Checks the devices of an experiment against the nodes that a job requests, on a machine that has none of them.
// Returns one warning per line about a job whose ranks lack GPUs, or waste them. Throws ddp::Error (usage) if the
// experiment cannot train on such nodes.
std::vector<std::string> check_devices(const config::Loaded& loaded, const TrainingJob& job);

}  // namespace ddp::commands
