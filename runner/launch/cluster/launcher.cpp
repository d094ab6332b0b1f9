#include "launch/cluster/launcher.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/text_number.h"
#include "config/text/source.h"
#include "launch/cluster/endpoint.h"
#include "launch/cluster/environment.h"
#include "launch/cluster/lone_process.h"
#include "launch/slurm/slurm_step.h"

namespace ddp::launch {
namespace {

constexpr std::uint16_t kTorchrunsPort = 29500;  // the default port of torchrun's nodes

int number_in_environment(const char* name, std::optional<int> otherwise = {}) {
  const auto text = environment(name);
  if (!text && otherwise) return *otherwise;
  const auto number = text ? text_number<int>(*text) : std::nullopt;
  if (number && *number >= 0) return *number;
  throw usage_error(text ? "is \"" + *text + "\", not a count" : "is not set", std::string("environment: ") + name,
                    "a launcher sets it; without one, unset RANK and WORLD_SIZE");
}

// Identifies the process that lives as long as torchrun's restarts: its agent, our parent. (Its --rdzv-id is "none"
// unless the user gave one.)
std::string agent_identity() {
  struct stat born {};
  stat(("/proc/" + std::to_string(getppid())).c_str(), &born);
  return "agent-" + std::to_string(getppid()) + "-" + std::to_string(born.st_ctim.tv_sec);
}

// Returns the port of MASTER_PORT; 0 if it is not set.
std::uint16_t port_in_environment(std::uint16_t otherwise = 0) {
  const auto text = environment("MASTER_PORT");
  if (!text) return otherwise;
  if (const auto port = text_number<std::uint16_t>(*text); port && *port > 0) return *port;
  const std::string shown = text_number<int>(*text) ? *text : config::in_quotes(*text);
  throw usage_error("MASTER_PORT is " + shown + ", and ports count from 1 to 65535", "environment",
                    "set it to a free port of the machine of rank 0, the same for all ranks: 29500");
}

// Returns the host of MASTER_ADDR.
std::string host_in_environment(const std::string& otherwise = "") {
  const std::string host = environment("MASTER_ADDR").value_or(otherwise);
  const auto endpoint = port_behind_host(host);
  if (!endpoint) return without_brackets(host);
  throw usage_error(
      "MASTER_ADDR is \"" + host + "\": it has a port", "environment",
      "give the port apart: MASTER_ADDR=" + endpoint->host + " MASTER_PORT=" + std::to_string(endpoint->port));
}

void require_rank_below(const std::string& rank, int number, const std::string& size, int count) {
  if (number < count) return;
  if (count == 0) throw usage_error(size + " is 0", "environment", "set it to the number of ranks, at least 1");
  throw usage_error(rank + " is " + std::to_string(number) + ", and " + size + " is " + std::to_string(count),
                    "environment", "ranks count from 0: the last one is " + std::to_string(count - 1));
}

Launch by_torchrun() {
  Launch l{.by = Launch::By::torchrun};
  l.rank = number_in_environment("RANK");
  l.world_size = number_in_environment("WORLD_SIZE");
  l.local_rank = number_in_environment("LOCAL_RANK", 0);
  l.ranks_here = number_in_environment("LOCAL_WORLD_SIZE", 1);
  l.master_host = host_in_environment();
  l.master_port = port_in_environment();
  l.store_is_there = environment("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True";
  l.attempt = number_in_environment("TORCHELASTIC_RESTART_COUNT", 0);
  const std::string id = environment("TORCHELASTIC_RUN_ID").value_or("none");
  if (environment("TORCHELASTIC_RUN_ID")) l.id = "torchrun-" + (id == "none" ? agent_identity() : id);
  require_rank_below("RANK", l.rank, "WORLD_SIZE", l.world_size);
  if (l.local_rank > 0 && !environment("LOCAL_WORLD_SIZE")) {
    throw usage_error("LOCAL_RANK is " + std::to_string(l.local_rank) + ", and LOCAL_WORLD_SIZE is not set",
                      "environment", "set LOCAL_WORLD_SIZE to the number of ranks on this machine");
  }
  require_rank_below("LOCAL_RANK", l.local_rank, "LOCAL_WORLD_SIZE", *l.ranks_here);
  if (*l.ranks_here > l.world_size) {
    throw usage_error(
        "LOCAL_WORLD_SIZE is " + std::to_string(*l.ranks_here) + ", and WORLD_SIZE is " + std::to_string(l.world_size),
        "environment", "WORLD_SIZE counts the ranks of all machines, LOCAL_WORLD_SIZE the ranks of this one");
  }
  return l;
}

Launch by_srun(const SlurmStep& step) {
  return {.by = Launch::By::srun,
          .ranks_here = step.tasks_here,
          .master_host = host_in_environment(step.first_host),
          .master_port = port_in_environment(static_cast<std::uint16_t>(step.port)),
          .rank = step.task,
          .world_size = step.tasks,
          .local_rank = step.local_task,
          .id = {}};
}

bool is_one_of_several_ranks() {
  return environment("RANK") && text_number<int>(environment("WORLD_SIZE").value_or("")).value_or(1) > 1;
}

// Returns the place of this process among the processes that a launcher started; empty: it is the only one.
std::string place_in_group() {
  if (is_one_of_several_ranks()) {
    const std::string place = "rank " + *environment("RANK") + " of " + *environment("WORLD_SIZE");
    return environment("TORCHELASTIC_RUN_ID") ? "torchrun started this process as " + place
                                              : "RANK and WORLD_SIZE make this process " + place;
  }
  const auto step = slurm_step();
  if (!step || step->tasks <= 1) return "";
  return "srun started this process as task " + std::to_string(step->task) + " of " + std::to_string(step->tasks);
}

// Returns whether each process of the launcher is the parent of one node, as in a cluster that numbers its machines by
// RANK and WORLD_SIZE, and in Slurm's step of one task a node. Each process of torchrun is a rank.
bool launcher_starts_nodes(const LaunchFlags& f) {
  const int nodes = f.nnodes.value_or(1);
  if (nodes <= 1 || environment("TORCHELASTIC_RUN_ID")) return false;
  if (!is_one_of_several_ranks()) return slurm_step()->tasks == nodes;
  return number_in_environment("WORLD_SIZE") == nodes && number_in_environment("RANK") == f.node_rank.value_or(-1) &&
         number_in_environment("LOCAL_WORLD_SIZE", 1) == 1;
}

// Each process of a launcher would train a copy of its own, or be one more node.
void require_one_launcher(const LaunchFlags& f) {
  if (f.standalone) return;
  const std::string place = place_in_group();
  if (place.empty() || launcher_starts_nodes(f)) return;
  std::string flags;
  for (const std::string& flag : f.given()) flags += (flags.empty() ? "" : ", ") + flag;
  const bool one_node = f.nnodes.value_or(1) == 1;
  throw usage_error(place, f.given().front(), "leave out " + flags + (one_node ? " (--standalone trains alone)" : ""));
}

void require_one_meaning(const LaunchFlags& f) {
  const bool nodes = f.nnodes.value_or(1) > 1 || f.node_rank.value_or(0) > 0;
  if (f.standalone && nodes) {
    throw usage_error("trains on one node, and another flag names several", "--standalone",
                      "leave out --standalone, or --nnodes and --node-rank");
  }
  if (f.node_rank.value_or(0) > 0 && !f.nnodes) {
    throw usage_error("--nnodes is missing", "--node-rank", "give the number of nodes too: --nnodes 2");
  }
}

// Returns the endpoint of --rdzv-endpoint. Throws if --master-addr or --master-port names another place.
Endpoint rendezvous_of(const LaunchFlags& f) {
  const auto endpoint = parse_endpoint(f.rdzv_endpoint);
  if (!endpoint) {
    throw usage_error("\"" + f.rdzv_endpoint + "\" " + wrong_endpoint(f.rdzv_endpoint), "--rdzv-endpoint",
                      "write it as 10.0.0.1:29500");
  }
  const bool other_host = !f.master_addr.empty() && without_brackets(f.master_addr) != endpoint->host;
  if (other_host || f.master_port.value_or(endpoint->port) != endpoint->port) {
    throw usage_error(
        "--rdzv-endpoint and " + std::string(other_host ? "--master-addr" : "--master-port") + " name different places",
        "--rdzv-endpoint", "give one of them");
  }
  return *endpoint;
}

void require_no_port_in(const std::string& master_addr) {
  const auto endpoint = port_behind_host(master_addr);
  if (!endpoint) return;
  throw usage_error(
      "\"" + master_addr + "\" has a port", "--master-addr",
      "give the port apart: --master-addr " + endpoint->host + " --master-port " + std::to_string(endpoint->port));
}

// The ranks of one node meet without it: the user may have forgotten --nnodes.
void warn_of_place_of_one_node(const LaunchFlags& f) {
  if (f.nnodes || f.standalone) return;
  const std::string flag = !f.rdzv_endpoint.empty() ? "--rdzv-endpoint"
                           : !f.master_addr.empty() ? "--master-addr"
                           : f.master_port          ? "--master-port"
                                                    : "";
  if (flag.empty()) return;
  log::warn(flag + ": says where nodes meet, and without --nnodes this command starts one node alone; give --nnodes " +
            "and --node-rank too, or leave out " + flag);
}

// Only a parent restarts ranks.
std::string lost_max_restarts(const Launch& launch) {
  const std::string lost = "--max-restarts has no effect on ranks that ";
  if (launch.by == Launch::By::srun) return lost + "srun started; leave it out";
  if (environment("TORCHELASTIC_RUN_ID")) return lost + "torchrun started: give it to torchrun";
  return lost + "are started one by one, with RANK and WORLD_SIZE; leave it out, and start all of them again by hand";
}

Launch by_flags(const LaunchFlags& f) {
  require_one_launcher(f);
  require_one_meaning(f);
  warn_of_place_of_one_node(f);
  Launch l{.by = Launch::By::itself, .max_restarts = f.max_restarts};
  l.nodes = f.nnodes.value_or(1);
  l.node_rank = f.node_rank.value_or(0);
  l.ranks_here = f.nproc_per_node;
  if (l.node_rank >= l.nodes) {
    throw usage_error("there is no node " + std::to_string(l.node_rank) + " of " + std::to_string(l.nodes),
                      "--node-rank", "nodes count from 0 to " + std::to_string(l.nodes - 1));
  }
  if (f.standalone) return l;
  if (l.nodes > 1 && !f.node_rank) {
    throw usage_error("is required with " + std::to_string(l.nodes) + " nodes", "--node-rank",
                      "give --node-rank 0 on the first, 1 on the second, …");
  }
  if (!f.rdzv_endpoint.empty()) {
    const Endpoint endpoint = rendezvous_of(f);
    l.master_host = endpoint.host;
    l.master_port = endpoint.port;
  } else {
    require_no_port_in(f.master_addr);
    l.master_host = without_brackets(f.master_addr);
    l.master_port = f.master_port.value_or(f.master_addr.empty() ? 0 : kTorchrunsPort);
  }
  return l;
}

}  // namespace

std::vector<std::string> LaunchFlags::given() const {
  std::vector<std::string> names;
  if (nproc_per_node) names.push_back("--nproc-per-node");
  if (nnodes) names.push_back("--nnodes");
  if (node_rank) names.push_back("--node-rank");
  if (!master_addr.empty()) names.push_back("--master-addr");
  if (master_port) names.push_back("--master-port");
  if (!rdzv_endpoint.empty()) names.push_back("--rdzv-endpoint");
  if (standalone) names.push_back("--standalone");
  return names;
}

void require_one_process(const std::string& verb, const std::string& remedy) {
  const std::string place = place_in_group();
  if (!place.empty()) throw usage_error("is one process, but " + place, verb, remedy);
}

bool Launch::restarted() const { return attempt > 0 || number_in_environment("SLURM_RESTART_COUNT", 0) > 0; }

Launch choose_launch(const LaunchFlags& flags) {
  if (!flags.given().empty()) return by_flags(flags);
  const auto step = slurm_step();
  const bool torchrun = environment("RANK") && environment("WORLD_SIZE");
  if (!torchrun && (!step || step->tasks <= 1)) {
    warn_of_lone_process();
    return {.max_restarts = flags.max_restarts};
  }
  const Launch launch = torchrun ? by_torchrun() : by_srun(*step);
  if (flags.max_restarts > 0 && launch.leads()) log::warn(lost_max_restarts(launch));
  return launch;
}

void require_init_method(const config::Loaded& loaded) {
  const std::string& method = loaded.experiment.distributed.init_method;
  if (method.starts_with("tcp://") && !parse_endpoint(method.substr(6))) {
    throw loaded.error("distributed.init_method", config::in_quotes(method) + " " + wrong_endpoint(method.substr(6)),
                       "write it as \"tcp://10.0.0.1:29500\"");
  }
  if (method.starts_with("tcp://") || method.starts_with("file:///") || method == "env://") return;
  throw loaded.error("distributed.init_method", "there is no init_method " + config::in_quotes(method),
                     "use \"env://\" (the launcher's address), \"tcp://10.0.0.1:29500\" or \"file:///shared/path\"");
}

void apply_init_method(const config::Loaded& loaded, Launch& launch) {
  require_init_method(loaded);
  const std::string& method = loaded.experiment.distributed.init_method;
  if (method.starts_with("file:///")) {
    if (launch.master_host.empty()) launch.meeting_file = method.substr(7);
  } else if (method.starts_with("tcp://")) {
    const auto endpoint = parse_endpoint(method.substr(6));
    if (launch.master_host.empty()) {
      launch.master_host = endpoint->host;
      launch.master_port = endpoint->port;
    }
  }
  if (launch.one_rank() && !launch.master_host.empty() && launch.master_port == 0) {
    throw usage_error("MASTER_PORT is not set, so the ranks cannot meet", "environment",
                      "set it to a free port of the machine of rank 0, the same for all ranks: 29500");
  }
  if ((launch.nodes == 1 && !launch.one_rank()) || !launch.master_host.empty() || !launch.meeting_file.empty()) return;
  if (launch.one_rank()) {
    throw usage_error("MASTER_ADDR is not set, so the ranks cannot meet", "environment",
                      "set MASTER_ADDR and MASTER_PORT to an address of the machine of rank 0 and a free port there");
  }
  throw usage_error("the nodes have no place to meet", "--master-addr",
                    "give the address of node 0: --master-addr 10.0.0.1 --master-port 29500");
}

}  // namespace ddp::launch
