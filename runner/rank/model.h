#pragma once

#include <memory>

#include "checkpoint/store.h"
#include "dist/parallel/parallel.h"
#include "rank/task.h"

namespace ddp::rank {

// Builds the model of a task as it starts, shared among the ranks of a group: with fresh weights, or those of a file,
// or those of a checkpoint (null: none). Throws ddp::Error where weights do not fit.
std::unique_ptr<dist::Parallel> build_parallel(const Task& task, const dist::Group& group,
                                               const checkpoint::Checkpoint* saved);

}  // namespace ddp::rank
