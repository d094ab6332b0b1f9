#include "commands/cluster/slurm.h"

#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/log.h"
#include "base/own_command.h"
#include "base/paths.h"
#include "commands/cluster/slurm_job.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "commands/use/unnamed_output.h"
#include "config/load/compose.h"
#include "config/load/load.h"
#include "launch/library/plugin.h"
#include "record/file/atomic_file.h"
#include "report/text/words.h"

namespace ddp::commands {
namespace fs = std::filesystem;

namespace {

// A line end in one of these would begin a new line of the script.
void require_one_line(const SlurmOptions& o) {
  const SlurmJob& job = o.job;
  std::vector<std::pair<std::string, std::string>> texts = {
      {job.experiment, "FILE"},   {job.program, "the folder of ddp-exp"},
      {job.results, "--results"}, {job.partition, "--partition"},
      {job.account, "--account"}, {job.job_name, "--job-name"},
      {job.note, "--note"}};
  for (const auto& module : job.modules) texts.emplace_back(module, "--module");
  for (const auto& set : job.sets) texts.emplace_back(set, "--set");
  for (const auto& [text, where] : texts) {
    if (std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 127; })) continue;
    throw usage_error("has a line end or another control character", where, "write it on one line");
  }
}

constexpr const char* kSignalBefore =
    "seconds before the time limit at which the job saves and requeues itself; default: 120, or a quarter of --time if "
    "that is less";

// Seconds before the time limit at which the job is told to save: two minutes, but a short job trains for most of its
// time.
int choose_signal_before(const SlurmOptions& o) {
  if (o.job.time.empty()) return o.signal_before.value_or(o.job.signal_before);
  const auto seconds = slurm_seconds(o.job.time);
  if (!seconds) {
    throw usage_error("\"" + o.job.time + "\" is not a time", "--time",
                      "write minutes, or hours:minutes:seconds, or days-hours:minutes:seconds: 30, 1:00:00, 2-12");
  }
  if (*seconds == 0) return o.signal_before.value_or(o.job.signal_before);
  if (!o.signal_before) return static_cast<int>(std::min<std::int64_t>(o.job.signal_before, *seconds / 4));
  if (*o.signal_before < *seconds) return *o.signal_before;
  throw usage_error("no time is left to train in: the job has " + std::to_string(*seconds) + " s", "--signal-before",
                    "use fewer seconds than --time");
}

void write(const SlurmOptions& o, const std::string& script) {
  refuse_folder(o.output, "job.sbatch");
  require_folder_of(o.output);
  std::error_code unreadable;
  if (fs::exists(o.output, unreadable)) {
    if (record::read_text(o.output) == script) return;
    if (!o.force) {
      throw usage_error(
          "exists, and is a different script", o.output,
          "compare it (--output - prints the new one); --force overwrites it, --output FILE writes another");
    }
  }
  try {
    record::write_atomically(o.output, script);
  } catch (const Error& error) {
    throw usage_error(error.summary(), error.where());
  }
}

// Replaces this process by sbatch: its output and exit code become this command's.
[[noreturn]] void submit(const std::string& file) {
  std::cout.flush();
  execlp("sbatch", "sbatch", paths::absolute(file).c_str(), nullptr);
  throw usage_error("cannot be started: " + errno_text(errno), "sbatch",
                    "the script is written: submit it on the cluster, with sbatch " + file);
}

}  // namespace

void add_training(CLI::App& verb, std::string& file, TrainingJob& job) {
  const CLI::Range count(1, 1'000'000);
  completes(verb.add_option("FILE", file, "experiment file")->required(), completion::files({".toml"}));
  verb.add_option("--nodes", job.nodes, "number of nodes")->check(count)->capture_default_str();
  known_as(verb.add_option("--nproc-per-node", job.nproc_per_node, "ranks per node; default: from device_pool"),
           kNprocAliases)
      ->check(count);
  verb.add_flag("--elastic", job.elastic, "go on without a node that fails, except the first; needs logical_ranks");
  add_sets(verb, job.sets);
  add_name(verb, job.name);
}

std::vector<CLI::Option*> add_slurm_requests(CLI::App& verb, SlurmOptions& o) {
  SlurmJob& job = o.job;
  const CLI::Range count(1, 1'000'000);
  return {
      verb.add_option("--gpus-per-node", job.gpus_per_node, "Slurm option: GPUs per node")->check(count),
      verb.add_option("--cpus-per-task", job.cpus_per_task, "Slurm option: CPUs per node, for all of its ranks")
          ->check(count),
      verb.add_option("--partition", job.partition, "Slurm option"),
      verb.add_option("--account", job.account, "Slurm option"),
      verb.add_option("--time", job.time, "Slurm option: time limit; minutes, hours:minutes:seconds or days-hours")
          ->type_name("TIME"),
      verb.add_option("--job-name", job.job_name, "Slurm option; default: the experiment's name")->type_name("NAME"),
      verb.add_flag("--exclusive,!--no-exclusive", job.exclusive,
                    "Slurm option: take whole nodes, or share them with other jobs; default: " +
                        std::string(job.exclusive ? "--exclusive" : "--no-exclusive")),
      verb.add_option("--module", job.modules, "environment module to load first; repeatable")
          ->take_all()
          ->allow_extra_args(false),
      verb.add_option("--signal-before", o.signal_before, kSignalBefore)->check(CLI::Range(1, 65535)),
      names_output(verb.add_option("--output", o.output, "file of the job script; - prints it")->capture_default_str()),
      verb.add_flag("--force", o.force, "overwrite a different job script"),
      verb.add_flag("--submit", o.submit, "submit the job script with sbatch")};
}

void complete(SlurmOptions& o) {
  SlurmJob& job = o.job;
  job.program = paths::program();
  job.experiment = paths::absolute(o.file);
  job.results = paths::absolute(o.results);
  require_one_line(o);
  job.signal_before = choose_signal_before(o);
}

void warn_of_devices(const std::vector<config::Loaded>& runs, const TrainingJob& job) {
  std::vector<std::string> warnings;
  for (const config::Loaded& run : runs) {
    for (const std::string& warning : check_devices(run, job)) report::add_once(warnings, warning);
  }
  for (const std::string& warning : warnings) log::warn(warning);
}

int write_job(const SlurmOptions& o) {
  if (o.submit && o.output == "-") throw usage_error("only prints the script: it cannot be submitted", "--output -");
  const std::string script = slurm_script(o.job);
  if (o.output == "-") {
    std::cout << script << std::flush;
    return 0;
  }
  write(o, script);
  if (o.submit) submit(o.output);
  std::cout << o.output << std::endl;
  return 0;
}

namespace {

constexpr std::uint16_t kPort = 8888;

// A job trains one run.
void tell_of_sweep(const SlurmOptions& o, const std::vector<std::string>& sets) {
  if (!config::has_sweep(o.file, sets)) return;
  log::warn(o.file + " has a [sweep], and this job trains the file once, without it; `" +
            own_command("sweep " + path_word(o.file) + " --array") + "` writes a job for each trial");
}

// Checks the whole experiment before it writes anything.
int slurm(SlurmOptions& o) {
  SlurmJob& job = o.job;
  std::vector<std::string> sets = job.sets;
  if (!job.name.empty()) sets.push_back(config::assignment_of_option("--name", "name", job.name));
  const auto loaded = launch::load_experiment(o.file, sets);
  if (job.job_name.empty()) job.job_name = loaded.experiment.name;
  complete(o);
  if (job.exclusive && !job.port) job.port = kPort;
  warn_of_devices({loaded}, job);
  tell_of_sweep(o, sets);
  return write_job(o);
}

void add_slurm(CLI::App& verb, SlurmOptions& o) {
  SlurmJob& job = o.job;
  add_training(verb, o.file, job);
  verb.add_option("--port", job.port,
                  "port of the first node; default: 8888, on shared nodes one that depends on the job")
      ->check(CLI::Range(1, 65535));
  add_slurm_requests(verb, o);
  add_results(verb, o.results);
}

const bool slurm_registered = register_verb(
    150, "slurm", "write a job script that trains on the nodes of a Slurm cluster", add_slurm, slurm,
    {.examples = {"slurm experiments/basic.toml --nodes 2 --gpus-per-node 4"}, .aliases = {"sbatch", "submit"}});

}  // namespace

}  // namespace ddp::commands
