#pragma once

#include <memory>
#include <string>

#include "checkpoint/store.h"
#include "config/experiment.h"
#include "config/registry.h"
#include "dist/parallel/parallel.h"
#include "train/optim/grouped_optimizer.h"

namespace ddp::train {

class Ema;

// The parts of a rank from which states are built.
struct StateParts {
  const config::Experiment& experiment;
  int rank = 0;
  dist::Group group;
  dist::Parallel& model;
  GroupedOptimizer& optimizer;
  Ema* ema = nullptr;  // null: the weights are not averaged
};

// A part of a run's state that a checkpoint keeps in its own file, named by the registered name. Each state is one
// source file in this folder, which registers itself.
class SavedState {
 public:
  virtual ~SavedState() = default;

  // Tells whether this run has the state.
  virtual bool exists() const { return true; }
  // Gathers on rank 0 the data that only other ranks have, before a save. Collective.
  virtual void collect() {}
  // Returns the tensors to save. Rank 0 only, after collect(). `steady` tensors do not change until the optimizer's
  // next step.
  virtual checkpoint::StateTensors tensors() const = 0;
  // Restores the tensors of a checkpoint; empty if the checkpoint does not have this state. `saved`: the contents of
  // state.json. Throws ddp::Error (training) if the tensors do not fit.
  virtual void restore(const NamedTensors& tensors, const checkpoint::State& saved) = 0;
};

using SavedStateRegistry = config::Registry<std::unique_ptr<SavedState>, const StateParts&>;
SavedStateRegistry& saved_states();

}  // namespace ddp::train
