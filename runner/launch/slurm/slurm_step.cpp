#include "launch/slurm/slurm_step.h"

#include <cstdlib>

#include "base/error.h"

namespace ddp::launch {
namespace {

constexpr int kFirstPort = 20000;
constexpr int kPorts = 12000;  // below Linux's ephemeral ports

std::string text_of(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int number_of(const char* name) {
  const std::string text = text_of(name);
  char* end = nullptr;
  const long number = std::strtol(text.c_str(), &end, 10);
  if (!text.empty() && *end == '\0' && number >= 0) return static_cast<int>(number);
  throw usage_error("is \"" + text + "\", not a count", std::string("environment: ") + name,
                    "start the tasks with srun, or unset SLURM_STEP_ID");
}

}  // namespace

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

std::optional<SlurmStep> slurm_step() {
  if (text_of("SLURM_STEP_ID").empty() || text_of("SLURM_STEP_NUM_TASKS").empty()) return {};
  SlurmStep step{.first_host = {}};
  step.tasks = number_of("SLURM_STEP_NUM_TASKS");
  if (step.tasks <= 1) return step;
  step.task = number_of("SLURM_PROCID");
  step.local_task = number_of("SLURM_LOCALID");
  step.tasks_here = tasks_of_node(text_of("SLURM_STEP_TASKS_PER_NODE"), number_of("SLURM_NODEID"));
  step.first_host = first_host_of(text_of("SLURM_STEP_NODELIST"));
  const long job = std::strtol(text_of("SLURM_JOB_ID").c_str(), nullptr, 10);
  const long id = std::strtol(text_of("SLURM_STEP_ID").c_str(), nullptr, 10);
  step.port = static_cast<std::uint16_t>(kFirstPort + (job * 31 + id) % kPorts);
  if (step.task < step.tasks && step.local_task < step.tasks_here && !step.first_host.empty()) return step;
  throw usage_error("task " + std::to_string(step.task) + " of " + std::to_string(step.tasks) + ", " +
                        std::to_string(step.local_task) + " of " + std::to_string(step.tasks_here) + " on this node",
                    "environment: SLURM_*", "start the tasks with srun");
}

}  // namespace ddp::launch
