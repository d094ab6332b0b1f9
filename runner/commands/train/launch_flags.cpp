#include "commands/train/launch_flags.h"

#include <CLI/CLI.hpp>

namespace ddp::commands {

void add_launch_flags(CLI::App& verb, launch::LaunchFlags& f) {
  constexpr const char* kGroup = "Launch on several nodes: the same command on each (torchrun's flags)";
  const auto add = [&](const char* names, auto& value, const char* doc) {
    return verb.add_option(names, value, doc)->group(kGroup);
  };
  add("--nnodes", f.nnodes, "number of nodes")->check(CLI::Range(1, 100000));
  add("--node-rank,--node_rank", f.node_rank, "rank of this node, from 0")->check(CLI::Range(0, 99999));
  add("--nproc-per-node,--nproc_per_node", f.nproc_per_node, "ranks per node; default: all of device_pool")
      ->check(CLI::Range(1, 4096));
  add("--master-addr,--master_addr", f.master_addr, "address of node 0");
  add("--master-port,--master_port", f.master_port, "free port on node 0 (default 29500)")->check(CLI::Range(1, 65535));
  add("--rdzv-endpoint,--rdzv_endpoint", f.rdzv_endpoint, "address and port of node 0: HOST:PORT");
  verb.add_flag("--standalone", f.standalone, "train on one node, even if a launcher started this command")
      ->group(kGroup);
}

void add_max_restarts(CLI::App& verb, launch::LaunchFlags& f) {
  verb.add_option("--max-restarts,--max_restarts", f.max_restarts,
                  "most restarts of all ranks from the newest checkpoint after a rank fails")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
}

}  // namespace ddp::commands
