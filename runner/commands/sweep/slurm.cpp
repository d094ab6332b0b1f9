#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/log.h"
#include "base/own_command.h"
#include "commands/commands.h"
#include "commands/look/looking.h"
#include "commands/sets.h"
#include "commands/sweep/prepare_sweep.h"
#include "commands/sweep/slurm_options.h"
#include "config/text/compose.h"
#include "config/load.h"
#include "launch/library/plugin.h"

namespace ddp::commands {
namespace {

constexpr std::uint16_t kPort = 8888;

// A job trains one run. Says so for a file with a sweep, and names the command that trains its trials.
void tell_of_sweep(const SlurmOptions& o, const std::vector<std::string>& sets) {
  if (!config::has_sweep(o.file, sets)) return;
  const config::LoadedSweep sweep = launch::load_sweep(o.file, sets);
  const std::string command = with_sets(own_command("sweep " + path_word(o.file)), o.job.sets);
  const std::string trials =
      make_search(sweep)->independent()
          ? command + " --array writes a job for each trial"
          : "one task trains the trials, since " + sweep.sweep.method.name + " compares them: srun -n 1 " + command;
  log::warn(o.file + " has a [sweep], and this job trains the file once, without it; " + trials);
}

// Checks the whole experiment before it writes anything.
int slurm(SlurmOptions& o) {
  launch::SlurmJob& job = o.job;
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

void add_slurm(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<SlurmOptions>();
  launch::SlurmJob& job = o->job;
  CLI::App* verb = app.add_subcommand("slurm", "write a job script that trains on the nodes of a Slurm cluster");
  const CLI::Range count(1, 1'000'000);
  verb->add_option("FILE", o->file, "experiment file")->required();
  verb->add_option("--nodes", job.nodes, "number of nodes")->check(count)->capture_default_str();
  verb->add_option("--nproc-per-node", job.nproc_per_node, "ranks per node; default: from device_pool")->check(count);
  verb->add_option("--port", job.port,
                   "port of the first node; default: 8888, on shared nodes one that depends on the job")
      ->check(CLI::Range(1, 65535));
  add_slurm_requests(*verb, *o);
  add_sets(*verb, job.sets);
  add_name(*verb, job.name);
  add_results(*verb, o->results);
  verb->callback([o, &exit_code] { exit_code = slurm(*o); });
}

const bool slurm_registered = register_verb(150, add_slurm);

}  // namespace

}  // namespace ddp::commands
