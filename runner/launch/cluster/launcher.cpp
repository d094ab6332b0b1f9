#include "launch/cluster/launcher.h"

#include <sys/stat.h>
#include <unistd.h>
#include <cstdlib>

#include "base/error.h"
#include "base/log.h"
#include "base/own_command.h"
#include "base/text_number.h"
#include "config/text/source.h"

namespace ddp::launch {
namespace {

constexpr std::uint16_t kTorchrunsPort = 29500;  // the default port of torchrun's nodes

// Returns the value of a variable; nothing if it is not set or empty.
std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
}

// A place as a user writes it: "10.0.0.1:29500", "node1:29500", "[fe80::1]:29500".
struct Endpoint {
  std::string host;
  std::uint16_t port = 0;
};

// Returns a host without the brackets of an IPv6 address: "[::1]" is "::1".
std::string without_brackets(const std::string& host) {
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  return bracketed ? host.substr(1, host.size() - 2) : host;
}

// Returns nothing if the text is no endpoint.
std::optional<Endpoint> parse_endpoint(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return {};
  const std::uint16_t port = text_number<std::uint16_t>(text.substr(colon + 1)).value_or(0);
  const std::string host = without_brackets(text.substr(0, colon));
  if (port == 0 || host.empty()) return {};
  return Endpoint{.host = host, .port = port};
}

int number_in_environment(const char* name, std::optional<int> otherwise = {}) {
  const auto text = environment(name);
  if (!text && otherwise) return *otherwise;
  const auto number = text ? text_number<int>(*text) : std::nullopt;
  if (number && *number >= 0) return *number;
  throw usage_error(text ? "is \"" + *text + "\", not a count" : "is not set", std::string("environment: ") + name);
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
  throw usage_error("MASTER_PORT is " + config::in_quotes(*text) + ", and ports count from 1 to 65535", "environment");
}

void refuse_if(bool wrong, const std::string& name, int number, const std::string& size, int count) {
  if (!wrong) return;
  throw usage_error(name + " is " + std::to_string(number) + ", and " + size + " is " + std::to_string(count),
                    "environment");
}

Launch by_torchrun() {
  Launch l{.one_rank = true};
  l.rank = number_in_environment("RANK");
  l.world_size = number_in_environment("WORLD_SIZE");
  l.local_rank = number_in_environment("LOCAL_RANK", 0);
  l.ranks_here = number_in_environment("LOCAL_WORLD_SIZE", 1);
  l.master_host = without_brackets(environment("MASTER_ADDR").value_or(""));
  l.master_port = port_in_environment();
  l.store_is_there = environment("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True";
  l.attempt = number_in_environment("TORCHELASTIC_RESTART_COUNT", 0);
  const std::string id = environment("TORCHELASTIC_RUN_ID").value_or("none");
  if (environment("TORCHELASTIC_RUN_ID")) l.id = "torchrun-" + (id == "none" ? agent_identity() : id);
  refuse_if(l.rank >= l.world_size, "RANK", l.rank, "WORLD_SIZE", l.world_size);
  refuse_if(l.local_rank >= *l.ranks_here, "LOCAL_RANK", l.local_rank, "LOCAL_WORLD_SIZE", *l.ranks_here);
  refuse_if(*l.ranks_here > l.world_size, "LOCAL_WORLD_SIZE", *l.ranks_here, "WORLD_SIZE", l.world_size);
  return l;
}

// The ports of ranks that srun starts: the same on every task, and most likely another one for other steps.
constexpr int kFirstPort = 20000;
constexpr int kPorts = 12000;  // below Linux's ephemeral ports

// Returns the first host of a Slurm host list: "gpu[07-09,12],login" is gpu07.
std::string first_host_of(const std::string& list) {
  const auto bracket = list.find('[');
  const auto comma = list.find(',');
  if (bracket == std::string::npos || (comma != std::string::npos && comma < bracket)) return list.substr(0, comma);
  const auto end = list.find_first_of("-,]", bracket);
  const auto close = list.find(']', bracket);
  if (end == std::string::npos || close == std::string::npos) return list.substr(0, bracket);
  // A name may continue after its brackets, up to the next host.
  return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1) +
         list.substr(close + 1, list.find(',', close) - close - 1);
}

// Returns a node's number of tasks from SLURM_STEP_TASKS_PER_NODE: with "2(x3),1", nodes 0 to 2 have 2. 0: not given.
int tasks_of_node(const std::string& list, int node) {
  const char* at = list.c_str();
  while (*at != '\0') {
    char* end = nullptr;
    const long tasks = std::strtol(at, &end, 10);
    long times = 1;
    if (end == at) return 0;
    if (end[0] == '(' && end[1] == 'x') {
      times = std::strtol(end + 2, &end, 10);
      if (*end == ')') ++end;
    }
    if (node < times) return static_cast<int>(tasks);
    node -= static_cast<int>(times);
    at = *end == ',' ? end + 1 : end;
    if (*end != ',' && *end != '\0') return 0;
  }
  return 0;
}

// Returns the launch of a Slurm step of several tasks, from srun's environment; nothing outside such a step. A batch
// script is no step, although it inherits some of the variables. Throws ddp::Error (usage) if the environment
// contradicts itself.
std::optional<Launch> slurm_step() {
  if (!environment("SLURM_STEP_ID") || number_in_environment("SLURM_STEP_NUM_TASKS", 1) <= 1) return {};
  Launch l{.one_rank = true};
  l.rank = number_in_environment("SLURM_PROCID");
  l.world_size = number_in_environment("SLURM_STEP_NUM_TASKS");
  l.local_rank = number_in_environment("SLURM_LOCALID");
  l.ranks_here =
      tasks_of_node(environment("SLURM_STEP_TASKS_PER_NODE").value_or(""), number_in_environment("SLURM_NODEID"));
  l.master_host = first_host_of(environment("SLURM_STEP_NODELIST").value_or(""));
  const long job = std::strtol(environment("SLURM_JOB_ID").value_or("").c_str(), nullptr, 10);
  const long id = std::strtol(environment("SLURM_STEP_ID").value_or("").c_str(), nullptr, 10);
  l.master_port = static_cast<std::uint16_t>(kFirstPort + (job * 31 + id) % kPorts);
  if (l.rank < l.world_size && l.local_rank < *l.ranks_here && !l.master_host.empty()) return l;
  throw usage_error("task " + std::to_string(l.rank) + " of " + std::to_string(l.world_size) + ", " +
                        std::to_string(l.local_rank) + " of " + std::to_string(*l.ranks_here) + " on this node",
                    "environment: SLURM_*");
}

Launch by_srun(Launch step) {
  step.master_host = without_brackets(environment("MASTER_ADDR").value_or(step.master_host));
  step.master_port = port_in_environment(step.master_port);
  return step;
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
  if (!step) return "";
  return "srun started this process as task " + std::to_string(step->rank) + " of " + std::to_string(step->world_size);
}

// Returns whether each process of the launcher is the parent of one node, as in a cluster that numbers its machines by
// RANK and WORLD_SIZE, and in Slurm's step of one task a node. Each process of torchrun is a rank.
bool launcher_starts_nodes(const LaunchFlags& f) {
  const int nodes = f.nnodes.value_or(1);
  if (nodes <= 1 || environment("TORCHELASTIC_RUN_ID")) return false;
  if (!is_one_of_several_ranks()) return slurm_step()->world_size == nodes;
  return number_in_environment("WORLD_SIZE") == nodes && number_in_environment("RANK") == f.node_rank.value_or(-1) &&
         number_in_environment("LOCAL_WORLD_SIZE", 1) == 1;
}

// Each process of a launcher would train a copy of its own, or be one more node.
void require_one_launcher(const LaunchFlags& f) {
  if (f.standalone) return;
  const std::string place = place_in_group();
  if (place.empty() || launcher_starts_nodes(f)) return;
  throw usage_error(place, f.given().front(), "leave out the launch flags, or give --standalone");
}

void require_one_meaning(const LaunchFlags& f) {
  const bool nodes = f.nnodes.value_or(1) > 1 || f.node_rank.value_or(0) > 0;
  if (f.standalone && nodes) throw usage_error("trains on one node, and another flag names several", "--standalone");
  if (f.node_rank.value_or(0) > 0 && !f.nnodes) throw usage_error("--nnodes is missing", "--node-rank");
}

// Returns the endpoint of --rdzv-endpoint. Throws if --master-addr or --master-port names another place.
Endpoint rendezvous_of(const LaunchFlags& f) {
  const auto endpoint = parse_endpoint(f.rdzv_endpoint);
  if (!endpoint) {
    throw usage_error("\"" + f.rdzv_endpoint + "\" is not host:port", "--rdzv-endpoint");
  }
  const bool other_host = !f.master_addr.empty() && without_brackets(f.master_addr) != endpoint->host;
  if (other_host || f.master_port.value_or(endpoint->port) != endpoint->port) {
    throw usage_error(
        "--rdzv-endpoint and " + std::string(other_host ? "--master-addr" : "--master-port") + " name different places",
        "--rdzv-endpoint");
  }
  return *endpoint;
}

// The ranks of one node meet without it: the user may have forgotten --nnodes.
void warn_of_place_of_one_node(const LaunchFlags& f) {
  if (f.nnodes || f.standalone) return;
  for (const std::string& flag : f.given()) {
    if (!flag.starts_with("--master") && flag != "--rdzv-endpoint") continue;
    return log::warn(flag + ": says where nodes meet, and without --nnodes this command starts one node alone");
  }
}

// One of several processes that their launcher did not number would train a copy of its own.
void warn_of_lone_process() {
  const auto is_several = [](const char* name) {
    return text_number<int>(environment(name).value_or("")).value_or(1) > 1;
  };
  for (const char* size : {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (!is_several(size)) continue;
    return log::warn(size + (" is " + *environment(size)) + ", and RANK is not set: this process trains alone");
  }
  if (const auto rank = environment("RANK")) {
    return log::warn("RANK is " + *rank + ", and WORLD_SIZE is not set: this process trains alone");
  }
  // A step of one task is what the user asked srun for; a shell of salloc is such a step too.
  if (!environment("SLURM_JOB_ID") || environment("SLURM_STEP_ID") || !is_several("SLURM_NNODES")) return;
  log::warn("this Slurm job has " + *environment("SLURM_NNODES") +
            " nodes, and this process trains on one: srun did not start it; " + own_command("slurm") +
            " writes a job script that trains on all");
}

Launch by_flags(const LaunchFlags& f) {
  require_one_launcher(f);
  require_one_meaning(f);
  warn_of_place_of_one_node(f);
  Launch l{.max_restarts = f.max_restarts, .elastic = f.elastic};
  l.nodes = f.nnodes.value_or(1);
  l.node_rank = f.node_rank.value_or(0);
  l.ranks_here = f.nproc_per_node;
  if (l.node_rank >= l.nodes) {
    throw usage_error("there is no node " + std::to_string(l.node_rank) + " of " + std::to_string(l.nodes),
                      "--node-rank");
  }
  if (f.standalone) return l;
  if (l.nodes > 1 && !f.node_rank) {
    throw usage_error("is required with " + std::to_string(l.nodes) + " nodes", "--node-rank");
  }
  if (!f.rdzv_endpoint.empty()) {
    const Endpoint endpoint = rendezvous_of(f);
    l.master_host = endpoint.host;
    l.master_port = endpoint.port;
  } else {
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
  if (!torchrun && !step) {
    warn_of_lone_process();
    return {.max_restarts = flags.max_restarts, .elastic = flags.elastic};
  }
  const Launch launch = torchrun ? by_torchrun() : by_srun(*step);
  if ((flags.max_restarts > 0 || flags.elastic) && launch.leads()) {  // only a parent restarts ranks
    log::warn(std::string(flags.elastic ? "--elastic" : "--max-restarts") +
              " has no effect on ranks that a launcher started");
  }
  return launch;
}

void require_init_method(const config::Loaded& loaded) {
  const std::string& method = loaded.experiment.distributed.init_method;
  if (method.starts_with("tcp://") && !parse_endpoint(method.substr(6))) {
    throw loaded.error("distributed.init_method", config::in_quotes(method) + " is not tcp://host:port");
  }
  if (method.starts_with("tcp://") || method.starts_with("file:///") || method == "env://") return;
  throw loaded.error("distributed.init_method", "there is no init_method " + config::in_quotes(method),
                     "use \"env://\" (the launcher's address), \"tcp://10.0.0.1:29500\" or \"file:///shared/path\"");
}

void apply_init_method(const config::Loaded& loaded, Launch& launch) {
  require_init_method(loaded);
  const std::string& method = loaded.experiment.distributed.init_method;
  if (method.starts_with("file:///")) {
    const std::filesystem::path file = method.substr(7);
    std::error_code unreadable;
    if (!std::filesystem::is_directory(file.parent_path(), unreadable)) {
      throw loaded.error("distributed.init_method", "there is no folder " + file.parent_path().string());
    }
    if (launch.master_host.empty()) launch.meeting_file = file.string();
  } else if (method.starts_with("tcp://")) {
    const auto endpoint = parse_endpoint(method.substr(6));
    if (launch.master_host.empty()) {
      launch.master_host = endpoint->host;
      launch.master_port = endpoint->port;
    }
  }
  if (launch.one_rank && !launch.master_host.empty() && launch.master_port == 0) {
    throw usage_error("MASTER_PORT is not set, so the ranks cannot meet", "environment");
  }
  if ((launch.nodes == 1 && !launch.one_rank) || !launch.master_host.empty() || !launch.meeting_file.empty()) return;
  if (launch.one_rank) throw usage_error("MASTER_ADDR is not set, so the ranks cannot meet", "environment");
  throw usage_error("the nodes have no place to meet", "--master-addr",
                    "give the address of node 0: --master-addr 10.0.0.1 --master-port 29500");
}

}  // namespace ddp::launch
