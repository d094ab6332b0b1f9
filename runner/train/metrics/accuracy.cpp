#include <limits>

#include <ATen/ops/tensor.h>

#include "train/loss/classes.h"
#include "train/metrics/metric.h"

namespace ddp::train {
namespace {

struct AccuracyOptions {
  void fields(config::Fields&) {}
};

// The share of right classes, of outputs [n, classes, …] and class indices [n, …], or of those of a text. The class
// that is predicted is the one with the greatest output; of equals, the lowest. The part of a batch: right ones, and
// how many there are.
class Accuracy final : public Metric {
 public:
  at::Tensor of_batch(const at::Tensor& outputs, const at::Tensor& targets) const override {
    const auto [output, target] = by_class(outputs, targets);
    if (target.is_floating_point() || output.dim() < 2 || target.dim() != output.dim() - 1) {
      return at::tensor(at::ArrayRef<double>(), at::kDouble);
    }
    const auto right = output.argmax(1).eq(target).sum().item<double>();
    return at::tensor({right, static_cast<double>(target.numel())}, at::kDouble);
  }

  double value(const std::vector<at::Tensor>& parts) const override {
    double right = 0;
    double all = 0;
    for (const at::Tensor& part : parts) {
      if (part.numel() == 0) return std::numeric_limits<double>::quiet_NaN();
      right += part.const_data_ptr<double>()[0];
      all += part.const_data_ptr<double>()[1];
    }
    return right / all;
  }
};

const bool accuracy_registered = metrics().add<AccuracyOptions>(
    "accuracy", "the share of right classes", [](const AccuracyOptions&) { return std::make_unique<Accuracy>(); },
    {{"direction", "greater"}});

}  // namespace
}  // namespace ddp::train
