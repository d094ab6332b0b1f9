#pragma once

#include <functional>

#include <ATen/core/Tensor.h>

#include "config/registry.h"

namespace ddp::train {

// A loss: from outputs [n, …] and targets to one number, the mean over the batch.
using Loss = std::function<at::Tensor(const at::Tensor& output, const at::Tensor& target)>;

using LossRegistry = config::Registry<Loss>;
LossRegistry& losses();

}  // namespace ddp::train
