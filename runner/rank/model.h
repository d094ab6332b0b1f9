#pragma once

#include <memory>

#include "checkpoint/store.h"
#include "dist/parallel/parallel.h"
#include "rank/task.h"

namespace ddp::rank {

// The weights of a checkpoint to load: the trained ones, or the averaged ones if the checkpoint has them.
enum class SavedWeights { own, averaged };

// Builds the model of a task for the ranks of a group. The weights come from the checkpoint `saved`, if not null; else
// from the task's weights file, if any; else they are initialized. Throws ddp::Error if weights do not fit.
std::unique_ptr<dist::Parallel> build_parallel(const Task& task, const dist::Group& group,
                                               const checkpoint::Checkpoint* saved,
                                               SavedWeights which = SavedWeights::own);

// Returns the initial weights from the task's file, for an initialized module. Throws ddp::Error (usage) if the file
// cannot be read or does not fit.
NamedTensors given_weights(const Task& task, const torch::nn::Module& module);

}  // namespace ddp::rank
