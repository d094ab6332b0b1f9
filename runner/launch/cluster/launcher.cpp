#include "launch/cluster/launcher.h"

#include <sys/stat.h>
#include <unistd.h>
#include <charconv>
#include <cstdlib>

#include "base/error.h"
#include "config/text/source.h"
#include "launch/slurm/slurm_step.h"

namespace ddp::launch {
namespace {

constexpr std::uint16_t kTorchrunsPort = 29500;  // the default port of torchrun's nodes

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
}

template <class Number>
std::optional<Number> parse(const std::string& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

int number_in_environment(const char* name, std::optional<int> otherwise = {}) {
  const auto text = environment(name);
  if (!text && otherwise) return *otherwise;
  const auto number = text ? parse<int>(*text) : std::nullopt;
  if (number && *number >= 0) return *number;
  throw usage_error(text ? "is \"" + *text + "\", not a count" : "is not set", std::string("environment: ") + name,
                    "a launcher sets it; without one, unset RANK and WORLD_SIZE");
}

struct Endpoint {
  std::string host;
  std::uint16_t port = 0;
};

std::optional<Endpoint> parse_endpoint(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return {};
  const std::uint16_t port = parse<std::uint16_t>(text.substr(colon + 1)).value_or(0);
  std::string host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (port == 0 || host.empty()) return {};
  return Endpoint{.host = host, .port = port};
}

// Identifies the process that lives as long as torchrun's restarts: its agent, our parent. (Its --rdzv-id is "none"
// unless the user gave one.)
std::string agent_identity() {
  struct stat born {};
  stat(("/proc/" + std::to_string(getppid())).c_str(), &born);
  return "agent-" + std::to_string(getppid()) + "-" + std::to_string(born.st_ctim.tv_sec);
}

Launch by_torchrun() {
  Launch l{.by = Launch::By::torchrun};
  l.rank = number_in_environment("RANK");
  l.world_size = number_in_environment("WORLD_SIZE");
  l.local_rank = number_in_environment("LOCAL_RANK", 0);
  l.ranks_here = number_in_environment("LOCAL_WORLD_SIZE", 1);
  l.master_host = environment("MASTER_ADDR").value_or("");
  l.master_port = static_cast<std::uint16_t>(number_in_environment("MASTER_PORT", 0));
  l.store_is_there = environment("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True";
  l.attempt = number_in_environment("TORCHELASTIC_RESTART_COUNT", 0);
  const std::string id = environment("TORCHELASTIC_RUN_ID").value_or("none");
  if (environment("TORCHELASTIC_RUN_ID")) l.id = "torchrun-" + (id == "none" ? agent_identity() : id);
  if (l.rank >= l.world_size || l.local_rank >= *l.ranks_here) {
    throw usage_error("rank " + std::to_string(l.rank) + " of " + std::to_string(l.world_size) + ", local rank " +
                          std::to_string(l.local_rank) + " of " + std::to_string(*l.ranks_here) + " is impossible",
                      "environment: RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE");
  }
  return l;
}

Launch by_srun(const SlurmStep& step) {
  return {.by = Launch::By::srun,
          .ranks_here = step.tasks_here,
          .master_host = environment("MASTER_ADDR").value_or(step.first_host),
          .master_port = static_cast<std::uint16_t>(number_in_environment("MASTER_PORT", step.port)),
          .rank = step.task,
          .world_size = step.tasks,
          .local_rank = step.local_task,
          .id = {}};
}

Launch by_flags(const LaunchFlags& f) {
  Launch l{.by = Launch::By::itself, .max_restarts = f.max_restarts};
  l.nodes = f.standalone ? 1 : f.nnodes.value_or(1);
  l.node_rank = f.standalone ? 0 : f.node_rank.value_or(0);
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
    if (!f.master_addr.empty()) {
      throw usage_error("--rdzv-endpoint and --master-addr are the same", "--rdzv-endpoint", "give one of them");
    }
    const auto endpoint = parse_endpoint(f.rdzv_endpoint);
    if (!endpoint) {
      throw usage_error("\"" + f.rdzv_endpoint + "\" is not host:port", "--rdzv-endpoint",
                        "write it as 10.0.0.1:29500");
    }
    l.master_host = endpoint->host;
    l.master_port = endpoint->port;
  } else {
    l.master_host = f.master_addr;
    l.master_port = f.master_port.value_or(f.master_addr.empty() ? 0 : kTorchrunsPort);
  }
  return l;
}

}  // namespace

bool LaunchFlags::given() const {
  return nnodes || node_rank || nproc_per_node || !master_addr.empty() || master_port || !rdzv_endpoint.empty() ||
         standalone;
}

Launch choose_launch(const LaunchFlags& flags) {
  if (flags.given()) return by_flags(flags);
  if (environment("RANK") && environment("WORLD_SIZE")) return by_torchrun();
  if (const auto step = slurm_step(); step && step->tasks > 1) return by_srun(*step);
  return {.max_restarts = flags.max_restarts};
}

void apply_init_method(const config::Loaded& loaded, Launch& launch) {
  const std::string& method = loaded.experiment.distributed.init_method;
  if (method.starts_with("file:///")) {
    if (launch.master_host.empty()) launch.meeting_file = method.substr(7);
  } else if (method.starts_with("tcp://")) {
    const auto endpoint = parse_endpoint(method.substr(6));
    if (!endpoint) {
      throw loaded.error("distributed.init_method", config::in_quotes(method) + " is not tcp://host:port",
                         "write it as \"tcp://10.0.0.1:29500\"");
    }
    if (launch.master_host.empty()) {
      launch.master_host = endpoint->host;
      launch.master_port = endpoint->port;
    }
  } else if (method != "env://") {
    throw loaded.error("distributed.init_method", "there is no init_method " + config::in_quotes(method),
                       "use \"env://\" (the launcher's address), \"tcp://10.0.0.1:29500\" or \"file:///shared/path\"");
  }
  if ((launch.nodes == 1 && !launch.one_rank()) || !launch.master_host.empty() || !launch.meeting_file.empty()) return;
  throw usage_error("the nodes have no place to meet", launch.one_rank() ? "MASTER_ADDR" : "--master-addr",
                    "give the address of node 0: --master-addr 10.0.0.1 --master-port 29500");
}

}  // namespace ddp::launch
