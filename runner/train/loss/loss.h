#pragma once

#include <functional>

#include <ATen/core/Tensor.h>

#include "config/registry.h"
#include "model/named_tensors.h"

namespace ddp::train {

// A loss: from outputs [n, …], or [n, classes, …] as torch has them, and targets to one number, the mean over the
// batch. Of a text, cross_entropy takes outputs [n, t, classes] with targets [n, t] (classes.h).
using Loss = std::function<at::Tensor(const at::Tensor& output, const at::Tensor& target)>;

// A loss may register with the trait "outputs", which tells metrics how it takes outputs: logits (of classes),
// log_probabilities (of classes), label_logits, or numbers (metrics/scores.h).
using LossRegistry = config::Registry<Loss>;
LossRegistry& losses();

// Returns the target of a batch. Throws ddp::Error (usage) where the dataset gives several: a loss takes one.
const at::Tensor& only_target(const NamedTensors& targets);

}  // namespace ddp::train
