#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/log.h"
#include "base/own_command.h"
#include "base/paths.h"
#include "commands/commands.h"
#include "commands/look/show_plan.h"
#include "commands/options.h"
#include "config/load/compose.h"
#include "launch/library/plugin.h"
#include "launch/start/held_data.h"
#include "record/saves/checkpoint_settings.h"
#include "runs/begin.h"

namespace ddp::commands {
namespace {

struct RunOptions {
  std::string file;
  std::vector<std::string> sets;
  std::string name;
  std::string results = "results";
  std::string run_id;
  std::string init_from;
  record::TagChange tags;
  launch::LaunchFlags flags;
  bool dry_run = false;
  std::int64_t profile_steps = 0;
};

// Returns the --set with which this node names the sources by its own paths.
std::vector<std::string> own_sources(const config::Experiment& experiment) {
  if (experiment.sources.empty()) return {};
  return {"sources=" + config::Value(experiment.sources).dump()};
}

// A [sweep] of the file may stay: the file is for both commands. A --set of it alone asks for another command.
void tell_of_sweep(const config::Loaded& loaded) {
  const auto place = loaded.places.find("sweep");
  if (place == loaded.places.end()) return;
  if (!place->second.source || !place->second.source->is_file()) {
    throw usage_error("`run` trains no sweep, and the file has no [sweep]", loaded.where("sweep"),
                      "leave it out; `" + own_command("sweep FILE") + "` trains the trials of a file with a [sweep]");
  }
  log::info("the file has a [sweep]: `run` trains the file once, without it; `sweep` trains its trials");
}

int run(const RunOptions& o) {
  if (!o.run_id.empty()) record::RunDirectory::require_run_id(o.run_id);
  std::vector<std::string> sets = o.sets;
  if (!o.name.empty()) sets.push_back(config::assignment_of_option("--name", "name", o.name));
  if (!o.init_from.empty()) sets.push_back(config::assignment_of_option("--init-from", "init_from", o.init_from));
  config::Loaded loaded = launch::load_experiment(o.file, sets);
  launch::Launch launch = launch::choose_launch(o.flags);
  tell_of_sweep(loaded);
  if (o.dry_run) {
    if (launch.leads()) launch::find_weights(loaded, o.results);
    const runs::Prepared prepared = runs::prepare({.loaded = std::move(loaded)}, launch);
    const config::DataDescription data = launch::describe_data(*prepared.library, prepared.plan, prepared.data);
    show_plan(prepared, data, {}, o.results, /*json=*/false);
    return 0;
  }
  launch::apply_init_method(loaded, launch);
  config::Value asked =
      config::write(config::comparable(record::as_kept(loaded.experiment)));  // source folders may differ between nodes
  asked["source_texts"] = record::hashes_of_texts(loaded.experiment);
  asked.erase("init_from");  // only node 0 reads weights
  const config::Value terms = launch::terms_of(launch, "run", {{"experiment", asked}});
  const auto patience = runs::patience_of(loaded.experiment);
  if (launch.node_rank > 0) return runs::take_part(launch, terms, patience, own_sources(loaded.experiment));
  const runs::BeginRequest request{.results = o.results,
                                   .run_id = o.run_id,
                                   .sets = o.sets,
                                   .folder = paths::absolute(o.file).parent_path(),
                                   .tags = o.tags,
                                   .profile_steps = o.profile_steps,
                                   .show = print_folder_of};
  return launch::lead(launch, terms, patience,
                      [&](launch::Nodes* nodes) { return runs::begin(request, std::move(loaded), launch, nodes); });
}

void add_run(CLI::App& verb, RunOptions& o) {
  completes(verb.add_option("FILE", o.file, "experiment file")->required(), completion::files({".toml"}));
  add_sets(verb, o.sets);
  add_name(verb, o.name);
  add_results(verb, o.results);
  add_run_id(verb, o.run_id, "id of the run; an existing run is resumed");
  completes(verb.add_option("--init-from", o.init_from, "initial weights: a checkpoint, a run or a .safetensors file"),
            completion::weights)
      ->type_name("WEIGHTS");
  add_tags(verb, o.tags);
  add_launch_flags(verb, o.flags);
  add_max_restarts(verb, o.flags);
  add_output(verb);
  verb.add_option("--profile", o.profile_steps, "profile STEPS steps: traces and a table in the run's folder")
      ->type_name("STEPS")
      ->check(CLI::PositiveNumber);
  verb.add_flag("--dry-run", o.dry_run, "show the plan, train nothing");
}

const bool run_registered = register_verb(
    10, "run", "train an experiment", add_run, run,
    {.examples = {"run experiments/basic.toml", "run experiments/basic.toml --set optimizer.lr=0.1 --name faster",
                  "run new.toml --init-from basic", "run experiments/digits.toml --profile 20"},
     .aliases = {"train", "fit", "start", "launch", "torchrun"}});

}  // namespace

}  // namespace ddp::commands
