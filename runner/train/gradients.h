#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "model/named_tensors.h"

namespace ddp::train {

// Returns the defined gradients, in the order of parameters().
std::vector<at::Tensor> gradients_of(const NamedTensors& parameters);

// Groups the tensors by device and dtype, in the order of the groups' first members.
std::vector<std::vector<at::Tensor>> by_device_and_type(const std::vector<at::Tensor>& tensors);

}  // namespace ddp::train
