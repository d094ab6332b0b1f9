#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "model/named_tensors.h"

namespace ddp::train {

// Returns the gradients that there are, in the order of parameters().
std::vector<at::Tensor> gradients_of(const NamedTensors& parameters);

// Returns the tensors in groups of one device and dtype each, in the order of their first members.
std::vector<std::vector<at::Tensor>> by_device_and_type(const std::vector<at::Tensor>& tensors);

}  // namespace ddp::train
