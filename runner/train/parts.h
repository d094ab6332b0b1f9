#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/experiment.h"
#include "config/length.h"
#include "data/batches.h"
#include "dist/parallel/parallel.h"
#include "format/object_store.h"
#include "record/metrics/run_recorder.h"
#include "record/shared_progress.h"
#include "schedule/scheduler.h"
#include "train/checkpointer.h"
#include "train/loss/loss.h"
#include "train/optim/ema.h"
#include "train/optim/grouped_optimizer.h"
#include "train/profile.h"

namespace ddp::train {

// The parts of a training on one rank: of its trainer, steps and evaluations. All that it refers to outlives it.
struct TrainerParts {
  const config::Experiment& experiment;
  int rank = 0;
  std::string label;  // the device in log lines: "CPU0"
  c10::Device device = c10::kCPU;
  dist::Group group;
  dist::Group control;           // null if all ranks have shared progress
  int logical_ranks = 1;         // that this rank computes
  std::int64_t bytes_to_record;  // that a step may take to be recorded
  dist::Parallel& model;
  GroupedOptimizer& optimizer;
  Loss loss;
  schedule::Scheduler scheduler;
  config::Length length;
  std::int64_t until_epoch = 0;  // stops when this many epochs are done; 0: at the end
  std::int64_t until_step = 0;   // stops after this step; 0: at the end
  data::Batches& batches;
  format::ObjectCache* cache;        // of a stream of URLs; null: it is none
  config::Value preprocessing = {};  // of the training data; null: none
  std::optional<data::EvaluationSet> validation;
  std::optional<data::EvaluationSet> test;
  Ema* ema = nullptr;  // null: the weights are not averaged
  Checkpointer& checkpointer;
  record::SharedProgress& shared;
  record::Console console;
  record::RunRecorder* recorder = nullptr;  // on rank 0
  Profile* profile = nullptr;               // null: the run is not profiled

  record::RankProgress& progress() const { return shared.rank(rank); }
  // Notes what this rank does now.
  void enter(record::Phase phase) const {
    const bool changes = progress().phase.load(std::memory_order_relaxed) != phase;
    progress().enter(phase);
    if (profile != nullptr && changes) profile->enter(phase);
  }
};

}  // namespace ddp::train
