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

// The parts of a rank that states are made of.
struct StateParts {
  const config::Experiment& experiment;
  int rank = 0;
  dist::Group group;
  dist::Parallel& model;
  GroupedOptimizer& optimizer;
  Ema* ema = nullptr;  // null: the weights are not averaged
};

// A part of a run's state that a checkpoint keeps in a file of its own, under the name that it is registered with. A
// state is one file in this folder, which registers itself.
class SavedState {
 public:
  virtual ~SavedState() = default;

  // Returns whether this run has such a state.
  virtual bool exists() const { return true; }
  // Brings to rank 0 what only other ranks know, before a save. Collective.
  virtual void collect() {}
  // Returns the tensors to save. On rank 0, after collect(). `steady` ones stay as they are until the optimizer's next
  // step.
  virtual checkpoint::StateTensors tensors() const = 0;
  // Takes back the tensors of a checkpoint; none where the checkpoint has no such state. `saved` is all of the
  // state.json. Throws ddp::Error (training) where they do not fit.
  virtual void restore(const NamedTensors& tensors, const checkpoint::State& saved) = 0;
};

struct NoStateOptions {
  void fields(config::Fields&) {}
};

using SavedStateRegistry = config::Registry<std::unique_ptr<SavedState>, const StateParts&>;
SavedStateRegistry& saved_states();

}  // namespace ddp::train
