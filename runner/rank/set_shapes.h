#pragma once

#include "data/sets.h"
#include "datasets/dataset.h"
#include "rank/task.h"
#include "rank/tried_model.h"

namespace ddp::rank {

// Throws ddp::Error (usage) if the model does not take the samples of validation or of the test because their shape
// differs from the training's, or the loss does not take their targets: the run would fail after its first epoch, or at
// its end. `training`: samples that the model takes. `count`: the number of samples to try. The model must be in
// evaluation mode.
void require_shapes_of_sets(const Task& task, const TriedModel& model, const data::Sets& sets,
                            const datasets::Batch& training, std::int64_t count);

}  // namespace ddp::rank
