#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "commands/commands.h"
#include "launch/library/rank_library.h"
#include "launch/plan/plan.h"
#include "record/run_directory.h"

namespace ddp::commands {

// The options of a verb that uses a trained model.
struct TrainedOptions {
  std::string run;
  std::string results = "results";
  std::string from;  // empty: best where there was validation, else latest
  std::vector<std::string> sets;
  bool raw = false;  // the weights that training changes, not their average
};
// RUN, --results, --from and --raw; `add_trained` adds --set.
void add_trained_run(CLI::App& verb, TrainedOptions& options);
void add_trained(CLI::App& verb, TrainedOptions& options);

// Throws ddp::Error (usage) where there is no such run.
record::RunDirectory find_run(const TrainedOptions& options);

// The checkpoint of a run that `from` names: best, latest, a step, or "": best where there was validation, else latest.
// Throws ddp::Error (usage) where there is none.
std::filesystem::path checkpoint_of(const record::RunDirectory& directory, const config::Experiment& experiment,
                                    const std::string& from);

// A trained model, ready to be used.
struct Trained {
  record::RunDirectory directory;
  config::Loaded loaded;
  launch::Plan plan;
  std::filesystem::path checkpoint;
  config::Value preprocessing = nullptr;  // null: nothing was fitted
  std::unique_ptr<launch::RankLibrary> library;

  std::int64_t step() const;
};

// `tables`: libddp_tables.so is needed, whatever the run's data are. Throws ddp::Error (usage) where there is no such
// run, or no such checkpoint of it.
Trained open_trained(const TrainedOptions& options, bool tables = false);

}  // namespace ddp::commands
