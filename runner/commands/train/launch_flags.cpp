#include "commands/train/launch_flags.h"

#include <CLI/CLI.hpp>

namespace ddp::commands {

void add_launch_flags(CLI::App& verb, launch::LaunchFlags& f) {
  constexpr const char* kGroup = "Launch over several machines: the same command on each (torchrun's flags)";
  const auto add = [&](const char* names, auto& value, const char* doc) {
    return verb.add_option(names, value, doc)->group(kGroup);
  };
  add("--nnodes", f.nnodes, "machines")->check(CLI::Range(1, 100000));
  add("--node-rank,--node_rank", f.node_rank, "which of them this is, from 0")->check(CLI::Range(0, 99999));
  add("--nproc-per-node,--nproc_per_node", f.nproc_per_node, "ranks a machine; default: all of device_pool")
      ->check(CLI::Range(1, 4096));
  add("--master-addr,--master_addr", f.master_addr, "the address of node 0");
  add("--master-port,--master_port", f.master_port, "a free port there (default 29500)")->check(CLI::Range(1, 65535));
  add("--rdzv-endpoint,--rdzv_endpoint", f.rdzv_endpoint, "both in one: HOST:PORT");
  verb.add_flag("--standalone", f.standalone, "one machine, whatever launched this")->group(kGroup);
}

void add_max_restarts(CLI::App& verb, launch::LaunchFlags& f) {
  verb.add_option("--max-restarts,--max_restarts", f.max_restarts,
                  "how often, after a rank has failed, all ranks start again from the newest checkpoint")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
}

}  // namespace ddp::commands
