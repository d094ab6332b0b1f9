#pragma once

#include <string>
#include <vector>

#include "config/experiment.h"
#include "datasets/dataset.h"

namespace ddp::rank {

// Returns warnings about a batch and the model's output for it, which the loss accepts but which a user probably did
// not want.
std::vector<std::string> doubts_of(const config::Experiment& experiment, const at::Tensor& output,
                                   const datasets::Batch& batch);

}  // namespace ddp::rank
