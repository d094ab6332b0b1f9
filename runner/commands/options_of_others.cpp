#include "commands/options_of_others.h"

#include <algorithm>
#include <iterator>

#include <CLI/CLI.hpp>

#include "commands/option_text.h"

namespace ddp::commands {
namespace {

// Options for sweeps of other programs, and the key of [sweep] with their meaning.
constexpr OptionOfOthers kOptionsOfSweeps[] = {{"n_trials", "sweep.trials"},         {"num_trials", "sweep.trials"},
                                               {"num_samples", "sweep.trials"},      {"trials", "sweep.trials"},
                                               {"method", "sweep.method"},           {"metric", "sweep.metric"},
                                               {"grace_period", "sweep.min_epochs"}, {"max_t", "sweep.max_epochs"}};

constexpr const char* kEnvironment =
    "leave it out: each rank reads RANK, LOCAL_RANK and WORLD_SIZE from its environment, where a launcher sets them";
constexpr const char* kRank =
    "leave it out: a launcher sets RANK in the environment. By hand start each machine once, with its --node-rank";
constexpr const char* kNoPython =
    "leave it out: ddp-exp is no Python script. An option of torchrun stands before the program: torchrun --no-python "
    "--nproc-per-node 2 ddp-exp run FILE";
constexpr const char* kLogs = "leave it out: the output of each rank is in logs/ of the run's folder";
constexpr const char* kTorchrun = "leave it out: torchrun has this option, and ddp-exp starts its ranks by itself";
constexpr const char* kTime =
    "`ddp-exp slurm FILE --time 1:00:00` limits a job of Slurm; --set stop.max_time=1h limits the training";
constexpr const char* kName =
    "a run keeps its name: `ddp-exp fork RUN --name NEW` starts a run of another name from its checkpoint";
constexpr const char* kOneMachine =
    "a trial trains on one machine: `ddp-exp sweep FILE --array` writes an array of Slurm jobs, one for each trial; "
    "`ddp-exp slurm FILE --nodes 2` trains one run on several machines";
constexpr const char* kScriptsNodes =
    "leave it out: the job script numbers its nodes, and they meet on the first one; here --nodes is their number";
constexpr const char* kArray =
    "`ddp-exp sweep FILE --array` writes an array of jobs, one for each trial of a [sweep]; for the same job several "
    "times, submit it several times";
constexpr const char* kRanksOfJob = "the ranks of a job are --nodes times --nproc-per-node; device_pool is the default";
constexpr const char* kRequeue =
    "leave it out: the job script has the line #SBATCH --requeue; remove the line from job.sbatch if a job must not "
    "start again";
constexpr const char* kSignal =
    "leave it out: the job script has the line #SBATCH --signal, and --signal-before sets its seconds";
constexpr const char* kOpenMode = "leave it out: the job script has the line #SBATCH --open-mode=append";
constexpr const char* kInScript = "write it into job.sbatch, behind `run \"$experiment\"`";
constexpr const char* kPrinted = "leave it out: the answer is printed, and the shell writes it into a file: > FILE";
constexpr const char* kRunFolders =
    "--results FOLDER names the folder of all runs, and --name the folder of this one in it";
constexpr const char* kForce =
    "--force overwrites a different job script; an experiment file is a word without an option";
constexpr const char* kJobs = "--jobs N is the number of trials side by side, and --json prints JSON";
constexpr const char* kTrials = "--set sweep.trials=N is the number of trials, and --name NAME the name of the sweep";
constexpr const char* kCommSizes = "here it is --sizes FROM..TO:FACTOR, such as --sizes 8..128MiB:2";

// The first line counts whose option the command has.
constexpr OptionOfOthers kOptionsOfOthers[] = {
    // checkpoints and data
    {"checkpoint", "--from"},
    {"ckpt", "--from"},
    {"checkpoint", "--init-from"},
    {"ckpt", "--init-from"},
    {"weights", "--init-from"},
    {"pretrained", "--init-from"},
    {"input", "INPUT"},
    {"inputs", "INPUT"},
    {"data", "INPUT"},
    {"file", "INPUT"},
    {"config", "FILE"},
    {"c", "FILE"},
    {"config_file", "FILE"},
    {"experiment", "FILE"},
    {"file", "FILE"},
    {"run", "RUN"},
    // nccl-tests, for comm
    {"n", "--iterations"},
    {"iters", "--iterations"},
    {"w", "--warmup"},
    {"warmup_iters", "--warmup"},
    {"b", "--sizes", kCommSizes},
    {"minbytes", "--sizes", kCommSizes},
    {"e", "--sizes", kCommSizes},
    {"maxbytes", "--sizes", kCommSizes},
    {"f", "--sizes", kCommSizes},
    {"stepfactor", "--sizes", kCommSizes},
    {"g", "--devices"},
    {"ngpus", "--devices"},
    {"t", "--devices"},
    {"nthreads", "--devices"},
    {"o", "--op"},
    {"d", "--dtype"},
    {"datatype", "--dtype"},
    // launchers and sbatch, for a sweep and for a job script
    {"nnodes", "--array", kOneMachine},
    {"nodes", "--array", kOneMachine},
    {"num_nodes", "--array", kOneMachine},
    {"node_rank", "--array", kOneMachine},
    {"master_addr", "--array", kOneMachine},
    {"master_port", "--array", kOneMachine},
    {"rdzv_endpoint", "--array", kOneMachine},
    {"nnodes", "--nodes"},
    {"num_nodes", "--nodes"},
    {"node_rank", "--nodes", kScriptsNodes},
    {"master_addr", "--nodes", kScriptsNodes},
    {"rdzv_endpoint", "--nodes", kScriptsNodes},
    {"master_port", "--port"},
    {"ntasks_per_node", "--nproc-per-node"},
    {"ntasks", "--nodes", kRanksOfJob},
    {"n", "--nodes", kRanksOfJob},
    {"array", "--nodes", kArray},
    {"max_restarts", "--nodes", kInScript},
    {"run_id", "--nodes", kInScript},
    {"requeue", "--signal-before", kRequeue},
    {"no_requeue", "--signal-before", kRequeue},
    {"signal", "--signal-before", kSignal},
    {"open_mode", "--signal-before", kOpenMode},
    // torchrun, torch.distributed.launch, mpirun, accelerate and deepspeed, for commands that start nodes
    {"local_rank", "--nnodes", kEnvironment},
    {"use_env", "--nnodes", kEnvironment},
    {"rank", "--nnodes", kRank},
    {"no_python", "--nnodes", kNoPython},
    {"tee", "--nnodes", kLogs},
    {"redirects", "--nnodes", kLogs},
    {"rdzv_conf", "--nnodes", kTorchrun},
    {"monitor_interval", "--nnodes", kTorchrun},
    {"start_method", "--nnodes", kTorchrun},
    {"local_addr", "--nnodes", kTorchrun},
    {"role", "--nnodes", kTorchrun},
    {"np", "--nproc-per-node"},
    {"n", "--nproc-per-node"},
    {"num_nodes", "--nnodes"},
    {"num_machines", "--nnodes"},
    {"nodes", "--nnodes"},
    {"machine_rank", "--node-rank"},
    {"main_process_ip", "--master-addr"},
    {"main_process_port", "--master-port"},
    {"time", "--max-restarts", kTime},
    {"name", "--max-restarts", kName},
    // short options that many programs have
    {"o", "--output"},
    {"o", "OUT"},
    {"o", "--run-id", kRunFolders},
    {"o", "--json", kPrinted},
    {"n", "--trial", kTrials},
    {"n", "--limit"},
    {"n", "--tokens"},
    {"n", "--name"},
    {"f", "--force", kForce},
    {"f", "FILE"},
    {"f", "INPUT"},
    {"j", "--draws", kJobs},
    {"j", "--jobs"},
    {"j", "--json"},
};

// Options of sbatch that `slurm` does not have.
constexpr const char* kOptionsOfSbatch[] = {"--qos",
                                            "--mem",
                                            "--gres",
                                            "--gpus",
                                            "-G",
                                            "--constraint",
                                            "-C",
                                            "--mail-user",
                                            "--mail-type",
                                            "--error",
                                            "-e",
                                            "-o",
                                            "--hold",
                                            "-H",
                                            "--begin",
                                            "-b",
                                            "--wait",
                                            "-W",
                                            "--exclude",
                                            "-x",
                                            "--mem-per-cpu",
                                            "--nodelist",
                                            "-w",
                                            "--reservation",
                                            "--chdir",
                                            "-D",
                                            "--dependency",
                                            "-d",
                                            "--comment",
                                            "--licenses",
                                            "-L",
                                            "--mem-per-gpu",
                                            "--gpus-per-task",
                                            "--deadline",
                                            "--nice",
                                            "--priority",
                                            "--export",
                                            "--tmp",
                                            "--clusters",
                                            "-M",
                                            "--gres-flags",
                                            "--oversubscribe",
                                            "-s",
                                            "--test-only"};

// The long names of sbatch's short options.
constexpr OptionOfOthers kShortOptionsOfSbatch[] = {{"-p", "--partition"}, {"-N", "--nodes"},
                                                    {"-A", "--account"},   {"-t", "--time"},
                                                    {"-J", "--job-name"},  {"-c", "--cpus-per-task"}};

// Can the option have this value? "-n 2" may count ranks, and "-n digits" does not.
bool may_take(const CLI::Option& option, const std::string& value) {
  return value.empty() || option_value(option) != "N" || value.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

const OptionOfOthers* option_of_others(const CLI::App& verb, const std::string& name, const std::string& value) {
  const auto known = std::find_if(std::begin(kOptionsOfOthers), std::end(kOptionsOfOthers), [&](const auto& one) {
    const CLI::Option* const here = name == one.name ? verb.get_option_no_throw(one.here) : nullptr;
    return here != nullptr && (*one.words || may_take(*here, value));
  });
  return known == std::end(kOptionsOfOthers) ? nullptr : &*known;
}

std::string sbatch_meant(const CLI::App& verb, const std::string& option, const std::string& value) {
  if (verb.get_option_no_throw("--signal-before") == nullptr) return "";
  for (const OptionOfOthers& one : kShortOptionsOfSbatch) {
    if (option == one.name && verb.get_option_no_throw(one.here) != nullptr)
      return std::string("here it is ") + one.here;
  }
  if (std::find(std::begin(kOptionsOfSbatch), std::end(kOptionsOfSbatch), option) == std::end(kOptionsOfSbatch)) {
    return "";
  }
  const std::string line = option + (value.empty() ? "" : (option.starts_with("--") ? "=" : " ") + value);
  return "other options of sbatch: sbatch " + line + " job.sbatch, or a line \"#SBATCH " + line + "\" in job.sbatch";
}

std::string key_of_sweep(const CLI::App& verb, const std::string& name) {
  const auto known = std::find_if(std::begin(kOptionsOfSweeps), std::end(kOptionsOfSweeps),
                                  [&](const auto& one) { return name == one.name; });
  return verb.get_name() != "sweep" || known == std::end(kOptionsOfSweeps) ? "" : known->here;
}

}  // namespace ddp::commands
