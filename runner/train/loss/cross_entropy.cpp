#include <ATen/ops/cross_entropy_loss.h>

#include "base/error.h"
#include "train/loss/classes.h"
#include "train/loss/loss.h"

namespace ddp::train {
namespace {

struct CrossEntropyOptions {
  double label_smoothing = 0;
  void fields(config::Fields& f) {
    f({.name = "label_smoothing", .doc = "share of the target spread over all classes", .range = config::between(0, 1)},
      label_smoothing);
  }
};

void check(const at::Tensor& output, const at::Tensor& target) {
  const std::string remedy =
      "cross_entropy needs outputs [n, classes] with class indices [n] or probabilities [n, classes], or outputs "
      "[n, t, classes] with class indices [n, t]";
  const bool indices = !target.is_floating_point();
  const bool fits =
      output.dim() >= 2 && (indices ? target.dim() == output.dim() - 1 : target.sizes() == output.sizes());
  if (!fits) {
    throw usage_error("the model gives values of shape " + c10::str(output.sizes()) + " for targets of shape " +
                          c10::str(target.sizes()),
                      "loss", remedy);
  }
}

const bool cross_entropy_registered = losses().add<CrossEntropyOptions>(
    "cross_entropy", "cross-entropy of class indices, or of probabilities", [](const CrossEntropyOptions& o) -> Loss {
      return [smoothing = o.label_smoothing](const at::Tensor& all_outputs, const at::Tensor& all_targets) {
        const auto [output, target] = by_class(all_outputs, all_targets);
        check(output, target);
        return at::cross_entropy_loss(output, target, {}, at::Reduction::Mean, -100, smoothing);
      };
    },
    {{"outputs", "logits"}});

}  // namespace
}  // namespace ddp::train
