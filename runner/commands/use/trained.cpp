#include "commands/use/trained.h"

#include <CLI/CLI.hpp>

#include "commands/look/looking.h"
#include "commands/sets.h"
#include "commands/train/resumption.h"
#include "launch/library/obtain.h"
#include "launch/plugin/experiment.h"
#include "record/saves/checkpoint_index.h"
#include "record/saves/data_files.h"

namespace ddp::commands {
namespace fs = std::filesystem;
void add_trained_run(CLI::App& verb, TrainedOptions& o) {
  verb.add_option("RUN", o.run, kRunInWords)->required();
  add_results(verb, o.results);
  verb.add_option("--from", o.from,
                  "checkpoint: best, latest or a step; default: best if the run had validation, else latest");
  verb.add_flag("--raw", o.raw, "for a run with [ema]: use the trained weights, not their average");
}

void add_trained(CLI::App& verb, TrainedOptions& o) {
  add_trained_run(verb, o);
  add_sets(verb, o.sets);
}

record::RunDirectory find_run(const TrainedOptions& o) {
  record::RunDirectory directory = record::RunDirectory::find(o.results, o.run);
  directory.require_run();
  return directory;
}

fs::path checkpoint_of(const record::RunDirectory& directory, const config::Experiment& e, const std::string& from) {
  // Perhaps no validation had a value of the metric.
  const bool has_best = e.validation.exists() && record::best_saved(directory.checkpoints(), e.best_metric());
  const fs::path checkpoint = choose_checkpoint(directory, !from.empty() ? from : has_best ? "best" : "latest");
  if (!checkpoint.empty()) return checkpoint;
  throw usage_error("has no complete checkpoint yet", directory.path().string(), "wait for its first save");
}

namespace {

// Refuses --set of [ema]: only training can add an average of the weights to a checkpoint.
void refuse_ema(const std::vector<std::string>& sets) {
  for (const std::string& set : sets) {
    const std::string key = set.substr(0, set.find_first_of(".= "));
    if (key != "ema") continue;
    throw usage_error("changes nothing: only training averages the weights", "--set " + set,
                      "leave it out; for a run with [ema], --raw uses the trained weights, not their average");
  }
}

}  // namespace

std::int64_t Trained::step() const { return record::step_of(checkpoint); }

Trained open_trained(const TrainedOptions& o, bool tables) {
  Trained t{.directory = find_run(o), .loaded = {}, .plan = {}, .checkpoint = {}, .preprocessing = {}, .library = {}};
  refuse_ema(o.sets);
  t.loaded = launch::load_experiment(t.directory.config(), o.sets);
  t.checkpoint = checkpoint_of(t.directory, t.loaded.experiment, o.from);
  t.preprocessing = record::fitted_to_data(t.checkpoint);
  t.plan = launch::make_plan(t.loaded, launch::visible_gpus());
  if (tables) t.plan.libraries.insert("tables");
  launch::obtain(t.plan.libraries);
  t.library = std::make_unique<launch::RankLibrary>(t.plan.uses_gpus(), t.plan.experiment.components().plugin());
  return t;
}

}  // namespace ddp::commands
