#include "rank/output_doubts.h"

#include "train/loss/classes.h"

namespace ddp::rank {
namespace {

// Above it, the mean squared error of a new model is above a million.
constexpr double kLargeTarget = 1000;

}  // namespace

std::vector<std::string> doubts_of_output(const config::Experiment& e, const at::Tensor& output,
                                          const at::Tensor& target) {
  std::vector<std::string> doubts;
  const config::Spec* spec = e.components().find("loss", e.loss.name);
  const std::string outputs = spec == nullptr ? "" : spec->traits.value("outputs", "");
  const at::Tensor by_classes = train::by_class(output, target).output;
  if (e.loss.name == "cross_entropy" && by_classes.dim() > 1 && by_classes.size(1) == 1) {
    doubts.push_back(
        "cross_entropy over one class: its loss is always 0 and nothing is learnt; use loss = \"mse\", or give the "
        "model one output for each class");
  }
  if (outputs == "log_probabilities" && output.numel() > 0 && output.max().item<double>() > 0) {
    doubts.push_back("the model's outputs are above 0, and " + e.loss.name +
                     " takes logarithms of probabilities; loss = \"cross_entropy\" takes any outputs");
  }
  const auto normalised = e.dataset.options.find("normalise_targets");
  const bool can_normalise = normalised != e.dataset.options.end() && *normalised == false;
  if (can_normalise && outputs == "numbers" && target.numel() > 0) {
    const double most = target.abs().max().item<double>();
    if (most > kLargeTarget) {
      doubts.push_back("targets as large as " + c10::str(most) +
                       " make losses and gradients large; dataset.normalise_targets = true trains on a small scale");
    }
  }
  return doubts;
}

}  // namespace ddp::rank
