#pragma once

#include <concepts>
#include <functional>
#include <utility>

#include <ATen/core/Tensor.h>

#include "config/registry.h"
#include "model/named_tensors.h"
#include "train/loss/loss_sum.h"

namespace ddp::train {

// A function of outputs [n, …], or [n, classes, …] as torch has them, and targets.
using LossFunction = std::function<at::Tensor(const at::Tensor& output, const at::Tensor& target)>;

// The parts of a loss that does more than to return the mean over a batch.
struct LossParts {
  LossFunction mean;
  // Throws ddp::Error (usage) where outputs and targets do not fit. The targets are on the CPU where the dataset made
  // them there. Called before the loss on a GPU, whose kernels cannot tell; on a CPU only after the loss failed.
  std::function<void(const at::Tensor& output, const at::Tensor& target)> check = {};
  // Returns how much the targets count in the mean: the sum of their weights, 0 for those that are ignored. Empty: each
  // counts 1.
  std::function<double(const at::Tensor& target)> count = {};
  // Returns the sum over the targets. Given, a step divides it by what all targets of the step count, of all ranks and
  // micro-batches, in place of the means of micro-batches.
  LossFunction sum = {};
};

// A loss: from outputs and targets to one number, the mean over the batch. A function that returns it is a loss. Of a
// text, losses of classes take outputs [n, t, classes] with targets [n, t] (classes.h). Targets may be on another
// device than outputs; functions get them on the device of the outputs.
class Loss {
 public:
  template <class Function>
  requires std::convertible_to<Function, LossFunction> &&
      (!std::same_as<std::remove_cvref_t<Function>, Loss>)Loss(Function mean)
      : p_{.mean = std::move(mean)} {}  // NOLINT(google-explicit-constructor): a function is a loss
  explicit Loss(LossParts parts) : p_(std::move(parts)) {}

  // Returns the mean over the batch.
  at::Tensor operator()(const at::Tensor& output, const at::Tensor& target) const {
    return call(p_.mean, output, target);
  }

  // Tells whether a step divides the sum over its targets by what they count.
  bool divides_by_count() const { return static_cast<bool>(p_.sum); }
  // Where it does: the sum over the batch.
  at::Tensor sum(const at::Tensor& output, const at::Tensor& target) const { return call(p_.sum, output, target); }
  // Returns how much the targets count, which are on the CPU or on a GPU.
  double count(const at::Tensor& target) const;

  // Measures a batch of `samples` samples: its loss, weighted by what its targets count.
  LossSum measure(const at::Tensor& output, const at::Tensor& target, std::int64_t samples) const;

 private:
  at::Tensor call(const LossFunction& function, const at::Tensor& output, const at::Tensor& target) const;

  LossParts p_;
};

// A loss may register with the trait "outputs", which tells metrics how it takes outputs: logits (of classes),
// log_probabilities (of classes), label_logits, or numbers (metrics/scores.h).
using LossRegistry = config::Registry<Loss>;
LossRegistry& losses();

// Returns the target of a batch. Throws ddp::Error (usage) where the dataset gives several: a loss takes one.
const at::Tensor& only_target(const NamedTensors& targets);

}  // namespace ddp::train
