#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/experiment.h"

namespace ddp::rank {

// Returns warnings for outputs and targets that the loss accepts but that a user probably did not want.
std::vector<std::string> doubts_of_output(const config::Experiment& experiment, const at::Tensor& output,
                                          const at::Tensor& target);

}  // namespace ddp::rank
