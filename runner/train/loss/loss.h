#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include <ATen/core/Tensor.h>

#include "config/registry.h"
#include "model/named_tensors.h"

namespace ddp::train {

// A loss summed over all that counts, such as samples, or targets that are not ignored.
struct LossSum {
  double sum = 0;
  double weight = 0;         // number of samples, or weight of the targets
  std::int64_t samples = 0;  // all samples, counted or not

  // Adds a mean over `count` samples.
  void add(double mean, std::int64_t count) {
    add({mean * static_cast<double>(count), static_cast<double>(count), count});
  }
  void add(const LossSum& other) {
    sum += other.sum;
    weight += other.weight;
    samples += other.samples;
  }
  bool finite() const { return std::isfinite(sum); }
  // NaN if nothing counts.
  double mean() const { return weight > 0 ? sum / weight : std::numeric_limits<double>::quiet_NaN(); }
};

// A function of outputs and targets. Outputs are [n, …], or [n, classes, …] as in torch.
using LossFunction = std::function<at::Tensor(const at::Tensor& output, const at::Tensor& target)>;

// Throws ddp::Error (usage) if a loss does not take one of these targets, whatever their number.
using CheckTargets = std::function<void(const at::Tensor& targets)>;

// The parts of a loss that is more than a mean over a batch.
struct LossParts {
  LossFunction mean;
  // Throws ddp::Error (usage) if outputs and targets do not match. The targets are on the device where the dataset made
  // them. Called before the loss on a GPU, whose kernels cannot report errors; on a CPU only after the loss failed.
  std::function<void(const at::Tensor& output, const at::Tensor& target)> check = {};
  // Returns the sum of the targets' weights in the mean; an ignored target weighs 0. Empty: each target weighs 1.
  std::function<double(const at::Tensor& target)> count = {};
  // Returns the check of all targets of the data before a run, for a model that gives such an output for such a target.
  // Empty: the loss takes any targets.
  std::function<CheckTargets(const at::Tensor& output, const at::Tensor& target)> check_targets = {};
  // Returns the sum over the targets. If given, a step divides this sum by the weight of all its targets, on all ranks
  // and in all micro-batches, instead of averaging the means of micro-batches.
  LossFunction sum = {};
};

// Computes one number, the mean over the batch, from outputs and targets. A function that returns this mean is a loss.
// For text, losses of classes take outputs [n, t, classes] with targets [n, t] (classes.h). Targets may be on another
// device than outputs; functions receive them on the device of the outputs.
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

  // Tells whether a step divides the sum over its targets by their weight.
  bool divides_by_count() const { return static_cast<bool>(p_.sum); }
  // Returns the sum over the batch. Only if divides_by_count().
  at::Tensor sum(const at::Tensor& output, const at::Tensor& target) const { return call(p_.sum, output, target); }
  // Returns the weight of the targets, which may be on the CPU or on a GPU.
  double count(const at::Tensor& target) const;

  // Returns the check of all targets, for a model that gives such an output for such a target.
  CheckTargets check_targets(const at::Tensor& output, const at::Tensor& target) const;

  // Measures the loss of a batch of `samples` samples, with the weight of its targets.
  LossSum measure(const at::Tensor& output, const at::Tensor& target, std::int64_t samples) const;

 private:
  at::Tensor call(const LossFunction& function, const at::Tensor& output, const at::Tensor& target) const;

  LossParts p_;
};

// A loss may register with the trait "outputs", which tells metrics the meaning of outputs: logits (of classes),
// log_probabilities (of classes), label_logits, or numbers (metrics/scores.h).
using LossRegistry = config::Registry<Loss>;
LossRegistry& losses();

// Returns the target of a batch. Throws ddp::Error (usage) if the dataset gives several, because a loss takes one.
const at::Tensor& only_target(const NamedTensors& targets);

// Checks the outputs and targets of the loss `name`, which compares number with number. Throws ddp::Error (usage) if
// they are not floating point or differ in shape. Python only warns and broadcasts, which is never intended.
void check_numbers(const std::string& name, const at::Tensor& output, const at::Tensor& target);

// The targets that a loss takes: numbers in a range.
struct TargetRange {
  double least = std::numeric_limits<float>::lowest();
  double most = std::numeric_limits<float>::max();
  std::string in_words = "finite numbers";
  std::string remedy = "leave out the samples without a target";
};

// Throws ddp::Error (usage), which names the first target that is not in the range or NaN.
void check_range(const std::string& name, const at::Tensor& targets, const TargetRange& range);

// Returns the loss `name`, which compares finite numbers with outputs of their shape: `mean` of both.
Loss loss_of_numbers(const std::string& name, LossFunction mean);

}  // namespace ddp::train
