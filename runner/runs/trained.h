#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/option/fields.h"
#include "launch/library/rank_library.h"
#include "launch/plan/plan.h"
#include "record/cross_validation.h"
#include "record/run_directory.h"
#include "runs/fetched.h"
#include "runs/standing.h"

namespace ddp::runs {

// The options of a command that uses a trained model.
struct TrainedOptions {
  std::string run;
  std::string results = "results";
  std::string from;  // empty: best if the run had validation, else latest
  std::vector<std::string> sets;
  bool raw = false;                                 // the trained weights, not their average
  std::shared_ptr<const FetchedCopy> fetched = {};  // of a run at a URL
  std::vector<std::string> usable = {};             // the keys that --set may change
};

// Throws ddp::Error (usage) if the run does not exist.
record::RunDirectory find_run(const TrainedOptions& options);
// The same for a run that may be given as a sweep, which stands for its best trial: `options` then name the trial.
record::RunDirectory choose_run(TrainedOptions& options);
// The result of the cross-validation that the options name; nothing: they name a run, or another sweep. Throws
// ddp::Error (usage) if it has no result yet.
std::optional<record::CrossValidation> cross_validation(TrainedOptions& options);

// Returns the run at the checkpoint that the options name, with the settings that trained it and --set of the command:
// best, latest, a step, or "": best if the run had validation, else latest. Throws ddp::Error (usage) if there is none.
Standing choose_trained(const record::RunDirectory& directory, const TrainedOptions& options);

// Lists the members of an output that say which weights were used.
void list_checkpoint(config::Fields& f, const std::string& run, const std::string& checkpoint, std::int64_t step);

// A trained model, ready for use.
struct Trained {
  record::RunDirectory directory;
  config::Loaded loaded;
  launch::Plan plan;
  std::filesystem::path checkpoint;
  config::Value preprocessing = nullptr;  // null: nothing was fitted
  std::unique_ptr<launch::RankLibrary> library;

  std::int64_t step() const;
};

// `tables`: libddp_tables.so is needed even if the run's data are not tables. Throws ddp::Error (usage) if the run or
// its checkpoint does not exist. Called inside `while_saving`, with the use of the model.
Trained open_trained(const TrainedOptions& options, bool tables = false);

// Calls `use`, which uses a checkpoint of the run. A run that trains replaces its checkpoints: if `use` fails because
// one is gone meanwhile, calls it again, a few times, so that it takes the next one. Throws the error of `use`, or
// ddp::Error (usage) if each attempt lost its checkpoint.
void while_saving(const record::RunDirectory& run, const std::function<void()>& use);

}  // namespace ddp::runs
