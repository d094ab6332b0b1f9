#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/experiment.h"
#include "config/registry.h"
#include "datasets/dataset.h"
#include "model/batch_sizes.h"
#include "model/call.h"
#include "model/named_tensors.h"
#include "model/numerics.h"

namespace torch::nn {
class Module;
}

namespace ddp::train {

// The loss of a batch, and the other scalars that come with it: those of the dict that has the loss.
struct BatchLoss {
  at::Tensor value;
  NamedTensors scalars = {};
  at::Tensor each = {};  // of each sample, [n], if a graph gives them: the value is their mean
};

// A loss summed over all that counts, such as samples, or targets that are not ignored.
struct LossSum {
  double sum = 0;
  double weight = 0;                 // number of samples, or weight of the targets
  std::int64_t samples = 0;          // all samples, counted or not
  std::vector<double> scalars = {};  // the same sum of each scalar that the loss gives

  // Adds a mean over `count` samples.
  void add(double mean, std::int64_t count) {
    add({mean * static_cast<double>(count), static_cast<double>(count), count});
  }
  void add(const LossSum& other) {
    sum += other.sum;
    weight += other.weight;
    samples += other.samples;
    scalars.resize(std::max(scalars.size(), other.scalars.size()));
    for (std::size_t i = 0; i < other.scalars.size(); ++i) scalars[i] += other.scalars[i];
  }
  // Adds the loss of a batch of `count` samples, and its scalars. Reading them waits for a GPU.
  void add(const BatchLoss& mean, std::int64_t count);
  // The same for the sum over a batch, with the weight of what it sums.
  void add(const BatchLoss& loss, double counted, std::int64_t count);
  bool finite() const { return std::isfinite(sum); }
  // NaN if nothing counts.
  double mean() const { return weight > 0 ? sum / weight : std::numeric_limits<double>::quiet_NaN(); }

 private:
  void add_scalars(const BatchLoss& loss, double counted);
};

// Adds up sums one after another; or as a balanced binary tree, if their number is a power of two: neighbours first.
LossSum total_of(std::vector<LossSum> sums, bool as_tree);

// A function of outputs and targets. Outputs are [n, …], or [n, classes, …] as in torch.
using LossFunction = std::function<at::Tensor(const at::Tensor& output, const at::Tensor& target)>;

// Throws ddp::Error (usage) if a loss does not take one of these targets, whatever their number.
using CheckTargets = std::function<void(const at::Tensor& targets)>;

// The parts of a loss that a graph from Python computes: the model's own, or an exported one. It is one number a batch,
// or one a sample.
struct GraphLoss {
  std::function<BatchLoss(const NamedTensors& outputs, const NamedTensors& targets)> of;
  bool is_of_model = false;       // the model takes the targets, and its outputs have the loss
  bool gathers = false;           // training: the outputs and targets of all ranks are one batch
  bool of_classes = false;        // exported: the cross entropy of the output and the target
  bool compares_samples = false;  // of a batch with each other; of a model's own loss from Loss::bind() on
  // Of an exported loss: the names of its arguments and of its scalars, its batch sizes, and the type of a target after
  // so many outputs.
  std::vector<std::string> argument_names = {};
  std::vector<std::string> scalar_names = {};
  model::BatchSizes batch_sizes = {};
  std::function<std::optional<c10::ScalarType>(std::size_t outputs)> target_type = {};
};

// The parts of a loss that is more than a mean over a batch.
struct LossParts {
  LossFunction mean = {};
  // Throws ddp::Error (usage) if outputs and targets do not match. The targets are on the device where the dataset made
  // them. Called before the loss on a GPU, whose kernels cannot report errors; on a CPU only after the loss failed.
  std::function<void(const at::Tensor& output, const at::Tensor& target)> check = {};
  // Returns the weight of each target in the mean, float64; an ignored one weighs 0. Empty: each target weighs 1.
  std::function<at::Tensor(const at::Tensor& target)> weights = {};
  // Returns the check of all targets of the data before a run, for a model that gives such an output for such a target.
  // Empty: the loss takes any targets.
  std::function<CheckTargets(const at::Tensor& output, const at::Tensor& target)> check_targets = {};
  // Returns the sum over the targets. If given, a step divides this sum by the weight of all its targets, on all ranks
  // and in all micro-batches, instead of averaging the means of micro-batches.
  LossFunction sum = {};
  // Returns the loss of each target times its weight, [n, …] or [n * t]. Empty: samples cannot be weighted.
  LossFunction each = {};
  // Of a loss without all of the above.
  std::optional<GraphLoss> graph = {};
};

// Computes one number, the mean over the batch, from outputs and targets. A function that returns this mean is a loss.
// Named losses take the main output (model/call.h) and one target.
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
  // The same for all outputs and targets of a batch.
  BatchLoss operator()(const NamedTensors& outputs, const NamedTensors& targets) const;

  // The parts of a loss that a graph computes; null: a named loss.
  const GraphLoss* graph() const { return p_.graph ? &*p_.graph : nullptr; }
  // Takes from the model and the dataset the order of arguments: arguments of the same names are bound by name. Takes
  // from the model what its logits answer. loss_for() calls it.
  void bind(const torch::nn::Module& model, const config::Component& dataset);
  // Does the model's own loss compare logits with the targets one place later?
  bool answers_next() const { return answers_next_; }
  // Samples that are drawn by their weights do not weigh again in the loss.
  void ignore_weights() { ignores_weights_ = true; }
  // Do the samples of the batch weigh in the loss?
  bool weighs(const datasets::Batch& batch) const { return weights_of(batch).defined(); }

  // Returns the inputs of the model: the batch's, prepared and on the device, and the targets of a loss of the model.
  std::vector<at::Tensor> model_inputs(const datasets::Batch& batch, const model::Numerics& numerics,
                                       c10::Device device) const;
  // Returns the names of the scalars that come with the loss.
  std::vector<std::string> scalar_names(const torch::nn::Module& model) const;

  // Tells whether a step divides the sum over its targets by their weight.
  bool divides_by_count() const { return static_cast<bool>(p_.sum); }
  // Returns the sum over a batch with weights of samples, or of a loss that divides by its targets; and the number, or
  // weight, of what it sums. Throws ddp::Error (usage) if the batch has weights that the loss does not take.
  BatchLoss sum(const NamedTensors& outputs, const datasets::Batch& batch) const;
  double count(const datasets::Batch& batch) const;

  // Returns the check of all targets, for a model that gives such an output for such a target.
  CheckTargets check_targets(const at::Tensor& output, const at::Tensor& target) const;

  // Measures the loss of a batch, with the weight of its targets.
  LossSum measure(const NamedTensors& outputs, const datasets::Batch& batch) const;

 private:
  at::Tensor call(const LossFunction& function, const at::Tensor& output, const at::Tensor& target) const;
  at::Tensor weights_of(const datasets::Batch& batch) const { return ignores_weights_ ? at::Tensor() : batch.weights; }

  LossParts p_;
  model::ArgumentOrder inputs_;         // of the model
  model::ArgumentOrder model_targets_;  // of the model, if it takes the targets
  model::ArgumentOrder targets_;        // of an exported loss
  bool answers_next_ = false;
  bool ignores_weights_ = false;
};

// Returns the names of a dataset's inputs or targets (`option`), as its options give them; {}: it has one of each.
std::vector<std::string> names_of(const config::Component& dataset, const std::string& option);

// A loss may register with the trait "outputs", which tells metrics the meaning of outputs: logits (of classes),
// log_probabilities (of classes), label_logits, or numbers (metrics/scores.h).
using LossRegistry = config::Registry<Loss>;
LossRegistry& losses();

// Builds the loss of an experiment for its model.
Loss loss_for(const config::Experiment& experiment, const torch::nn::Module& model);

// The key of the loss in a dict.
inline constexpr const char* kLoss = "loss";

// Returns the place of the loss among the outputs of a graph that computes it: "loss" of a dict, or the first output.
// Throws ddp::Error (usage), which names `where`, for a dict without "loss".
std::size_t place_of_loss(const std::vector<std::string>& names, const std::string& where = "loss");

// Returns the scalars that come with the loss: those of a dict with these outputs, but for the loss.
std::vector<std::string> scalars_beside_loss(const std::vector<std::string>& outputs, std::vector<std::string> scalars);

// Returns numbers of shape [n] as [n, 1] beside one output of this shape.
at::Tensor as_output(const at::Tensor& target, const at::Tensor& output);

// The answers of a batch and their target, for metrics.
struct Answers {
  at::Tensor output, target;
};
// Returns the main output and the one target. With a loss of a graph, returns "logits" or the only output, and nothing
// if there is none, or another number of targets than one. `asked`: the experiment names metrics. Otherwise integers
// beside an output that is not "logits" count as classes only if the loss takes them so: a loss of a graph may compare
// embeddings.
std::optional<Answers> answers_of(const Loss& loss, const NamedTensors& outputs, const NamedTensors& targets,
                                  bool asked);

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

// Computes the losses of numbers, reduced as torch's function of this name does (at::Reduction).
using ReducedLoss =
    std::function<at::Tensor(const at::Tensor& output, const at::Tensor& target, std::int64_t reduction)>;

// Returns the loss `name`, which compares finite numbers with outputs of their shape.
Loss loss_of_numbers(const std::string& name, const ReducedLoss& reduced);

}  // namespace ddp::train
