#pragma once

#include <memory>

#include "checkpoint/store.h"
#include "dist/parallel/parallel.h"
#include "rank/task.h"

namespace ddp::rank {

// Which weights of a checkpoint: those that training changes, or the averaged ones where there are any.
enum class SavedWeights { own, averaged };

// Builds the model of a task as it starts, shared among the ranks of a group: with fresh weights, or those of a file,
// or those of a checkpoint (null: none). Throws ddp::Error where weights do not fit.
std::unique_ptr<dist::Parallel> build_parallel(const Task& task, const dist::Group& group,
                                               const checkpoint::Checkpoint* saved,
                                               SavedWeights which = SavedWeights::own);

// Returns the weights that a task begins with, of its file, for a module as it was drawn. Throws ddp::Error (usage)
// where the file cannot be read or does not fit.
NamedTensors given_weights(const Task& task, const torch::nn::Module& module);

}  // namespace ddp::rank
