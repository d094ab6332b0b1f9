#include "rank/doubts.h"

#include <algorithm>
#include <optional>

#include <c10/util/StringUtil.h>

#include "config/components.h"
#include "train/loss/classes.h"
#include "train/loss/loss.h"

namespace ddp::rank {
namespace {

// Above it, the mean squared error of a new model is above a million.
constexpr double kLargeNumber = 1000;

// Returns a warning about numbers far from a small scale, if the dataset has the option that scales them and does not
// use it. `off`: the option's value that scales nothing; `remedy`: the setting that scales.
std::optional<std::string> doubt_of_size(const config::Experiment& e, const NamedTensors& numbers,
                                         const std::string& are, const std::string& option, const config::Value& off,
                                         const std::string& remedy) {
  const auto given = e.dataset.options.find(option);
  if (given == e.dataset.options.end() || *given != off) return {};
  double most = 0;
  for (const auto& [name, tensor] : numbers) {
    if (tensor.numel() > 0) most = std::max(most, tensor.abs().max().item<double>());
  }
  if (!(most > kLargeNumber)) return {};
  return are + " as large as " + c10::str(most) + " make losses and gradients large; " + remedy +
         " trains on a small scale";
}

// Warns of a Normalize for pixels from 0 to 255.
std::optional<std::string> doubt_of_normalize(const config::Experiment& e) {
  const config::Value transforms = e.dataset.options.value("transforms", config::Value::array());
  for (const config::Value& transform : transforms) {
    if (transform.value("type", "") != "Normalize") continue;
    for (const config::Value& mean : transform.value("mean", config::Value::array())) {
      if (!mean.is_number() || mean.get<double>() <= 1) continue;
      return "Normalize has a mean of " + mean.dump() + ", and pixels are from 0 to 1; divide mean and std by 255";
    }
  }
  return {};
}

// Are the outputs of each sample, over its classes, numbers from 0 that add up to 1?
bool are_probabilities(const at::Tensor& by_classes) {
  if (by_classes.dim() < 2 || by_classes.size(1) < 2 || by_classes.numel() == 0) return false;
  if (by_classes.min().item<double>() < 0) return false;
  return (by_classes.to(at::kDouble).sum(1) - 1).abs().max().item<double>() < 1e-3;
}

}  // namespace

std::vector<std::string> doubts_of(const config::Experiment& e, const at::Tensor& output,
                                   const datasets::Batch& batch) {
  std::vector<std::string> doubts;
  const config::Spec* spec = e.components().find("loss", e.loss.name);
  const std::string outputs = spec == nullptr ? "" : spec->traits.value("outputs", "");
  const at::Tensor by_classes = train::by_class(output, train::only_target(batch.targets)).output;
  if (e.loss.name == "cross_entropy" && by_classes.dim() > 1 && by_classes.size(1) == 1) {
    doubts.push_back(
        "cross_entropy over one class: its loss is always 0 and nothing is learnt; use loss = \"mse\" to predict a "
        "number, or give data and model several classes");
  }
  if (outputs == "log_probabilities" && output.numel() > 0 && output.max().item<double>() > 0) {
    doubts.push_back("the model's outputs are above 0, and " + e.loss.name +
                     " takes logarithms of probabilities; loss = \"cross_entropy\" takes any outputs");
  }
  if (outputs == "logits" && are_probabilities(by_classes)) {
    doubts.push_back("the model's outputs are probabilities, as after a softmax, and " + e.loss.name +
                     " applies a softmax itself: leave the model's out");
  }
  const auto add = [&](std::optional<std::string> doubt) {
    if (doubt) doubts.push_back(*std::move(doubt));
  };
  add(doubt_of_size(e, batch.inputs, "inputs", "normalise", "none", "dataset.normalise = \"standard\""));
  add(doubt_of_normalize(e));
  if (outputs == "numbers") {
    add(doubt_of_size(e, batch.targets, "targets", "normalise_targets", false, "dataset.normalise_targets = true"));
  }
  return doubts;
}

}  // namespace ddp::rank
