#include "commands/train/launch_flags.h"

#include <CLI/CLI.hpp>

#include "base/error.h"

namespace ddp::commands {
namespace {

// torchrun writes a fixed number of nodes as 2 or 2:2.
std::string fixed_number(const std::string& text) {
  const auto colon = text.find(':');
  if (colon == std::string::npos) return text;
  const std::string most = text.substr(colon + 1);
  if (text.substr(0, colon) == most) return most;
  throw usage_error("the number of nodes is fixed, not " + text, "--nnodes", "give one number: --nnodes " + most);
}

// torchrun counts devices by these words; here the experiment does.
std::string number_of_ranks(const std::string& text) {
  if (text != "auto" && text != "gpu" && text != "cpu") return text;
  throw usage_error("\"" + text + "\" is not a number of ranks", "--nproc-per-node",
                    text == "cpu" ? "give a number, such as --nproc-per-node 4"
                                  : "leave it out: device_pool = \"auto\" gives each GPU a rank");
}

void require_meeting_by_c10d(const std::string& backend) {
  if (backend == "c10d" || backend == "static") return;
  throw usage_error("\"" + backend + "\" is no way to meet here", "--rdzv-backend",
                    "leave it out: nodes meet at --rdzv-endpoint, or --master-addr");
}

// Accepted because torchrun's command lines have them: nodes meet by their address alone.
void add_flags_without_effect(CLI::App& verb) {
  verb.add_option_function<std::string>("--rdzv-backend,--rdzv_backend", require_meeting_by_c10d)->group("");
  verb.add_option_function<std::string>("--rdzv-id,--rdzv_id", [](const std::string&) {})->group("");
}

}  // namespace

void add_launch_flags(CLI::App& verb, launch::LaunchFlags& f) {
  constexpr const char* kGroup = "Launch on several nodes: the same command on each (torchrun's flags)";
  const auto add = [&](const char* names, auto& value, const char* doc) {
    return verb.add_option(names, value, doc)->group(kGroup);
  };
  add("--nnodes", f.nnodes, "number of nodes")->check(CLI::Range(1, 100000))->transform(fixed_number);
  add("--node-rank,--node_rank", f.node_rank, "rank of this node")->check(CLI::Range(0, 99999));
  add("--nproc-per-node,--nproc_per_node", f.nproc_per_node, "ranks per node; default: all of device_pool")
      ->check(CLI::Range(1, 4096))
      ->transform(number_of_ranks);
  add("--master-addr,--master_addr", f.master_addr, "address of node 0");
  add("--master-port,--master_port", f.master_port, "free port on node 0; default: 29500")->check(CLI::Range(1, 65535));
  add("--rdzv-endpoint,--rdzv_endpoint", f.rdzv_endpoint, "address and port of node 0: HOST:PORT");
  verb.add_flag("--standalone", f.standalone, "train on one node, even if a launcher started this command")
      ->group(kGroup);
  add_flags_without_effect(verb);
}

void add_max_restarts(CLI::App& verb, launch::LaunchFlags& f) {
  verb.add_option("--max-restarts,--max_restarts", f.max_restarts,
                  "start all ranks again from the newest checkpoint when a rank fails, at most so many times")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
}

}  // namespace ddp::commands
