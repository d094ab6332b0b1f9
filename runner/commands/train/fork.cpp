#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/url.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "config/load/compose.h"
#include "launch/library/plugin.h"
#include "record/saves/checkpoint_settings.h"
#include "runs/fetched.h"
#include "runs/fork.h"

namespace ddp::commands {
namespace {

struct ForkOptions {
  std::string run;
  std::vector<std::string> sets;
  std::string name;
  std::string results = "results";
  std::string from = "latest";
  bool data_changed = false;
  std::string run_id;
  record::TagChange tags;
  launch::LaunchFlags flags;
};

// The fork of a trial needs its own name: the name of a sweep stands for the sweep.
std::vector<std::string> fork_sets(const ForkOptions& o, const record::RunDirectory& origin) {
  std::vector<std::string> sets = o.sets;
  if (!o.name.empty()) {
    sets.push_back(config::assignment_of_option("--name", "name", o.name));
  } else if (origin.is_trial()) {
    const auto loaded = launch::load_experiment(record::newest_settings(origin), o.sets);
    sets.push_back("name=" + as_toml(loaded.experiment.name + "-trial-" + origin.path().filename().string()));
  }
  return sets;
}

int fork_run(const ForkOptions& o) {
  if (!o.run_id.empty()) record::RunDirectory::require_run_id(o.run_id);
  launch::Launch launch = launch::choose_launch(o.flags);
  const config::Value terms = launch::terms_of(
      launch, "fork",
      {{"run", o.run}, {"set", o.sets}, {"name", o.name}, {"from", o.from}, {"data-changed", o.data_changed}});
  // Another node may not see the origin's folder.
  if (launch.node_rank > 0) return runs::take_part(launch, terms, runs::patience_of(config::Experiment{}), o.sets);
  std::optional<runs::FetchedCopy> fetched;
  if (is_url(o.run)) fetched.emplace(o.run, runs::FetchedCopy::What::run);
  const auto directory = record::RunDirectory::find(o.results, fetched ? fetched->path().string() : o.run);
  directory.require_run();
  const std::vector<std::string> sets = fork_sets(o, directory);
  const auto loaded = launch::load_experiment(record::newest_settings(directory), sets);
  launch::apply_init_method(loaded, launch);
  const runs::ForkRequest request{.origin = directory,
                                  .origin_url = fetched ? without_query(o.run) : "",
                                  .name = loaded.experiment.name,
                                  .results = o.results,
                                  .run_id = o.run_id,
                                  .sets = sets,
                                  .from = o.from,
                                  .data_changed = o.data_changed,
                                  .tags = o.tags,
                                  .show = print_folder_of};
  return launch::lead(launch, terms, runs::patience_of(loaded.experiment),
                      [&](launch::Nodes* nodes) { return runs::fork(request, launch, nodes); });
}

void add_fork(CLI::App& verb, ForkOptions& o) {
  completes(verb.add_option("RUN", o.run, kRunInWords)->required(), completion::runs);
  add_sets(verb, o.sets, completion::Argument::run, "the other run's setting");
  add_name(verb, o.name, "name of the new run; default: the other run's name");
  add_from(verb, o.from, "checkpoint of the other run: latest, best or a step");
  add_data_changed(verb, o.data_changed);
  add_results(verb, o.results);
  add_run_id(verb, o.run_id, "id of the new run; an existing fork is resumed");
  add_tags(verb, o.tags);
  add_output(verb);
  add_launch_flags(verb, o.flags);
  add_max_restarts(verb, o.flags);
}

const bool fork_registered =
    register_verb(30, "fork", "start a new run from the whole state of another run's checkpoint", add_fork, fork_run,
                  {.examples = {"fork basic --set epochs=14 --set optimizer.lr=1e-4 --name slower",
                                "fork basic --from best --set epochs=14"}});

}  // namespace

}  // namespace ddp::commands
