
#include <CLI/CLI.hpp>

#include "base/log.h"
#include "base/own_command.h"
#include "base/url.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "commands/sweep/sweep.h"
#include "launch/library/plugin.h"
#include "runs/fetched.h"
#include "runs/resume.h"

namespace ddp::commands {
namespace {

struct ResumeOptions {
  std::string run;
  std::vector<std::string> sets;
  std::string results = "results";
  std::string from = "latest";
  bool data_changed = false;
  launch::LaunchFlags flags;
  std::optional<int> jobs;                // for a sweep
  std::optional<std::int64_t> max_seeds;  // for a race
};

// A sweep's trials are runs of one node each; only a single trial can be launched in another way.
int go_on_with_sweep(const record::RunDirectory& directory, const ResumeOptions& o, const launch::Launch& launch) {
  if (launch.nodes > 1 || launch.one_rank || o.from != "latest" || launch.max_restarts > 0) {
    throw usage_error("a sweep resumes from where it stopped, without --from, --max-restarts and launch flags",
                      directory.path().string(), "a single trial accepts them: name it by its folder");
  }
  if (!o.sets.empty()) {
    throw usage_error("a sweep keeps its settings: with others its trials could not be compared",
                      directory.path().string(), "begin another one: " + own_command("sweep FILE --set …"));
  }
  return resume_sweep(directory, o.jobs, o.data_changed, o.max_seeds);
}

int resume(const ResumeOptions& o) {
  launch::Launch launch = launch::choose_launch(o.flags);
  const config::Value terms = launch::terms_of(
      launch, "resume", {{"run", o.run}, {"set", o.sets}, {"from", o.from}, {"data-changed", o.data_changed}});
  // Another node may not see the run's folder.
  if (launch.node_rank > 0) return runs::take_part(launch, terms, runs::patience_of(config::Experiment{}), o.sets);
  const std::string run = is_url(o.run) ? runs::fetch_to_go_on(o.run, o.results).string() : o.run;
  const runs::ResumeRequest request{.directory = record::RunDirectory::find(o.results, run),
                                    .results = o.results,
                                    .sets = o.sets,
                                    .from = o.from,
                                    .data_changed = o.data_changed,
                                    .show = print_folder_of};
  if (request.directory.is_sweep()) return go_on_with_sweep(request.directory, o, launch);
  if (o.max_seeds) throw usage_error("this is a run, not a race", "--max-seeds", "leave it out");
  if (o.jobs) log::warn("--jobs has no effect: " + o.run + " is a run, not a sweep");
  const auto loaded = launch::load_experiment(request.directory.config(), o.sets);
  launch::apply_init_method(loaded, launch);
  return launch::lead(launch, terms, runs::patience_of(loaded.experiment),
                      [&](launch::Nodes* nodes) { return runs::resume(request, launch, nodes); });
}

void add_resume(CLI::App& verb, ResumeOptions& o) {
  completes(verb.add_option("RUN", o.run, kRunInWords)->required(), completion::runs);
  add_sets(verb, o.sets, completion::Argument::run, "the run's setting");
  add_results(verb, o.results);
  add_from(verb, o.from, "checkpoint: latest, best or a step");
  add_data_changed(verb, o.data_changed);
  add_jobs(verb, o.jobs);
  verb.add_option("--max-seeds", o.max_seeds, "most pairs of a race")->check(CLI::Range(2, 100'000));
  add_launch_flags(verb, o.flags);
  add_max_restarts(verb, o.flags);
  add_output(verb);
}

const bool resume_registered =
    register_verb(20, "resume", "continue a run or a sweep", add_resume, resume,
                  {.examples = {"resume latest", "resume basic --set epochs=12", "resume basic --from best"},
                   .aliases = {"continue", "restart"}});

}  // namespace

}  // namespace ddp::commands
