#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "model/named_tensors.h"

namespace ddp::rank {

// Returns the names of the parameters that get no gradient from this loss: no path of its graph leads to them. Runs no
// backward.
std::vector<std::string> without_gradient(const at::Tensor& loss, const NamedTensors& parameters);

}  // namespace ddp::rank
