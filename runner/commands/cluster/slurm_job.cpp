#include "commands/cluster/slurm_job.h"

#include <strings.h>
#include <algorithm>
#include <charconv>

#include "base/own_command.h"

namespace ddp::commands {
namespace {

constexpr std::int64_t kMinute = 60;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;

// Returns the numbers between the colons; nothing if the text contains anything else.
std::optional<std::vector<std::int64_t>> numbers_in(const std::string& text) {
  std::vector<std::int64_t> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    std::uint32_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return {};
    numbers.push_back(number);
    if (next == end) return numbers;
    if (*next != ':') return {};
    at = next + 1;
  }
}

std::string request(const std::string& option, const std::string& value) {
  return value.empty() ? "" : "#SBATCH --" + option + "=" + shell_word(value) + "\n";
}

std::string request(const std::string& option, const std::optional<int>& value) {
  return value ? request(option, std::to_string(*value)) : "";
}

std::string array(const SlurmJob& job) {
  if (!job.trials) return "";
  const std::string most = job.at_once ? "%" + std::to_string(*job.at_once) : "";
  return request("array", "0-" + std::to_string(*job.trials - 1) + most);
}

std::string requests(const SlurmJob& job) {
  return request("job-name", job.job_name) + request("partition", job.partition) + request("account", job.account) +
         array(job) + request("nodes", job.nodes) + "#SBATCH --ntasks-per-node=1  # the parent of a node's ranks\n" +
         request("gpus-per-node", job.gpus_per_node) + request("cpus-per-task", job.cpus_per_task) +
         request("time", job.time) + (job.exclusive ? "#SBATCH --exclusive\n" : "") +
         "# This many seconds before its time limit the job saves and returns to the queue; also on preemption.\n" +
         request("signal", "B:USR2@" + std::to_string(job.signal_before)) + (job.elastic ? "#SBATCH --no-kill\n" : "") +
         "#SBATCH --requeue\n"
         "#SBATCH --open-mode=append  # also continues slurm-<job>.out\n";
}

std::string modules(const SlurmJob& job) {
  if (job.modules.empty()) return "";
  std::string line = "module load";
  for (const auto& name : job.modules) line += " " + shell_word(name);
  return line + " || exit\n\n";
}

std::string places(const SlurmJob& job) {
  return "# The same paths on every node: a shared file system, or a copy on each.\nprogram=" +
         shell_word(job.program) + "\nexperiment=" + shell_word(job.experiment) +
         "\nresults=" + shell_word(job.results) + "\n\n";
}

std::string settings(const SlurmJob& job) {
  std::string options = job.name.empty() ? "" : " --name " + shell_word(job.name);
  for (const auto& set : job.sets) options += " --set " + shell_word(set);
  for (const auto& tag : job.tags) options += " --tag " + tag;
  if (!job.note.empty()) options += " --note " + shell_word(job.note);
  return options;
}

std::string trial(const SlurmJob& job) {
  return R"sh(# All jobs of the array write one sweep.
nodes=("$(hostname)")
"$program" sweep "$experiment" --trial "$SLURM_ARRAY_TASK_ID" \
  --results "$results" --run-id "slurm-$SLURM_ARRAY_JOB_ID")sh" +
         settings(job) + " &\nlaunches+=($!)\n\n";
}

constexpr const char* kNodes = R"(# The nodes meet on the first one, at the address that Slurm itself uses.
fail() {
  echo "job $SLURM_JOB_ID cannot start its ranks: $1" >&2
  exit 1
}
mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
if ((${#nodes[@]} == 0)); then fail "scontrol names no nodes for \"$SLURM_JOB_NODELIST\""; fi
master=$(scontrol show node --oneliner "${nodes[0]}" | sed -n 's/.* NodeAddr=\([^ ]*\).*/\1/p')
if [[ -z "$master" ]]; then fail "scontrol does not name the address of ${nodes[0]}"; fi
)";

// The command of a node, on three lines.
std::string launch_of_node(const SlurmJob& job) {
  std::string command;
  for (const std::string& word : node_command(job, {.experiment = R"("$experiment")",
                                                   .nodes = R"("${#nodes[@]}")",
                                                   .node_rank = R"("$i")",
                                                   .master = R"("$master")",
                                                   .port = R"("$port")",
                                                   .results = R"("$results")",
                                                   .run_id = R"("slurm-$SLURM_JOB_ID")"})) {
    command += (word == "--nnodes" || word == "--results" ? " \\\n    " : " ") + word;
  }
  return "    \"$program\"" + command + settings(job) + " &\n";
}

std::string launches(const SlurmJob& job) {
  // A port of the job's own, because nodes may be shared: another job may meet on the same node.
  const std::string port = job.port ? std::to_string(*job.port) : "$((20000 + SLURM_JOB_ID % 10000))";
  const std::string cpus = job.cpus_per_task ? " --cpus-per-task=" + std::to_string(*job.cpus_per_task) : "";
  return kNodes + ("port=" + port) + R"(

for i in "${!nodes[@]}"; do
  srun --nodelist="${nodes[i]}" --nodes=1 --ntasks=1 --cpu-bind=none)" +
         cpus + " \\\n" + launch_of_node(job) + R"(  launches+=($!)
  if ((stopping)); then break; fi
done

)";
}

constexpr const char* kTraps =
    R"(# A stop is forwarded to the launches once: after a second signal ddp-exp would end at once, without saving.
stopping=0
launches=()
stop() {
  trap : USR2 TERM
  stopping=1
  echo "job $SLURM_JOB_ID received a stop signal"
  if ((${#launches[@]} > 0)); then kill -USR2 "${launches[@]}" 2>/dev/null; fi
}
trap stop USR2 TERM

)";

// `go_on`: what is done first about a launch that failed.
std::string watch(const std::string& go_on) {
  return R"(# If a launch fails, the others are ended, and the job exits with its exit code.
code=0
while ((${#launches[@]} > 0)); do
  wait -n # until one ends, or a signal comes
  for i in "${!launches[@]}"; do
    if kill -0 "${launches[i]}" 2>/dev/null; then continue; fi
    wait "${launches[i]}"
    status=$?
    unset "launches[i]"
    if ((status == 0 || code != 0)); then continue; fi
)" + go_on +
         R"(    code=$status
    echo "job $SLURM_JOB_ID: the launch on ${nodes[i]} ended with exit code $code"
    # A signal stopped it: all launches stop together, and the others are still saving.
    if ((!stopping && code != 129 && code != 130 && code != 138 && code != 143 && ${#launches[@]} > 0)); then
      kill -TERM "${launches[@]}" 2>/dev/null
    fi
  done
done

# 143: stopped and saved; 140: stopped before it began. In both cases the job returns to the queue, unless it was
# cancelled or its time is up.
# The last task of an array has the array's number as its job id.
job=$SLURM_JOB_ID
if [[ -n "${SLURM_ARRAY_JOB_ID:-}" ]]; then job=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID; fi
if ((code == 143 || code == 140)) && [[ $(squeue --noheader --jobs="$job" --format=%T) == RUNNING ]]; then
  echo "job $job goes back to the queue, and resumes this run by itself when it starts again"
  scontrol requeue "$job"
fi
exit "$code"
)";
}

constexpr const char* kGoOn = R"(    if ((i > 0 && !stopping)); then
      echo "job $SLURM_JOB_ID goes on without ${nodes[i]}"
      continue
    fi
)";

}  // namespace

std::optional<std::int64_t> slurm_seconds(const std::string& time) {
  if (strcasecmp(time.c_str(), "unlimited") == 0 || strcasecmp(time.c_str(), "infinite") == 0) return 0;
  const auto dash = time.find('-');
  const bool with_days = dash != std::string::npos;
  const auto days = with_days ? numbers_in(time.substr(0, dash)) : std::vector<std::int64_t>{0};
  const auto rest = numbers_in(time.substr(with_days ? dash + 1 : 0));
  if (!days || days->size() != 1 || !rest || rest->size() > 3) return {};
  // After days, hours come first; otherwise minutes, unless two other numbers follow.
  std::int64_t unit = with_days || rest->size() == 3 ? kHour : kMinute;
  std::int64_t seconds = days->front() * kDay;
  for (const std::int64_t number : *rest) {
    seconds += number * unit;
    unit /= 60;
  }
  return seconds;
}

std::string slurm_script(const SlurmJob& job) {
  const std::string what = job.trials
                               ? "Trains the trials of a sweep with ddp-exp, one per job of this array. Written by "
                                 "\"ddp-exp sweep --array\""
                               : "Trains an experiment with ddp-exp, with one launch per node. Written by "
                                 "\"ddp-exp slurm\"";
  return "#!/bin/bash\n# " + what + ", yours to change.\n" + requests(job) + "\n" + modules(job) + places(job) +
         kTraps + (job.trials ? trial(job) : launches(job)) + watch(job.elastic ? kGoOn : "");
}

}  // namespace ddp::commands
