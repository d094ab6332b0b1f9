#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mean.h>

#include "train/optim/optimizer.h"

namespace ddp::train {
namespace {

struct AdafactorOptions {
  double lr = 1e-2;
  double beta2_decay = -0.8;
  std::vector<double> eps{std::numeric_limits<float>::epsilon(), 1e-3};
  double d = 1;
  double weight_decay = 0;
  void fields(config::Fields& f) {
    f(lr_option(), lr);
    f({.name = "beta2_decay",
       .doc = "power of the step with which squared gradients are averaged",
       .range = config::between(-100, 0)},
      beta2_decay);
    f({.name = "eps",
       .doc = "least mean square of the gradient's factors, and least scale of a parameter",
       .range = config::at_least(0),
       .length = 2},
      eps);
    f({.name = "d", .doc = "largest root mean square of an update", .range = config::at_least(1)}, d);
    f({.name = "weight_decay", .doc = "weight decay", .aliases = {"wd"}, .range = config::at_least(0)}, weight_decay);
  }
};

// torch/optim/_adafactor.py: _single_tensor_adafactor. Torch has no fused kernel for it.
class Adafactor : public LoopOptimizer {
 public:
  Adafactor(const AdafactorOptions& o, const NamedTensors& named) : LoopOptimizer(named, o.lr), o_(o) {}

 private:
  std::vector<std::string> kept(const Slot& slot) const override {
    if (slot.parameter.dim() < 2) return {"step", "variance"};
    return {"step", "row_var", "col_var"};
  }

  std::vector<std::int64_t> sizes_of(const std::string& what, const Slot& slot) const override {
    std::vector<std::int64_t> sizes = Optimizer::sizes_of(what, slot);
    if (what == "row_var") sizes.back() = 1;
    if (what == "col_var") sizes[sizes.size() - 2] = 1;
    return sizes;
  }

  static double root_mean_square(const at::Tensor& tensor) {
    return at::linalg_vector_norm(tensor, 2).item<double>() / root_of_size(tensor);
  }
  static double root_of_size(const at::Tensor& tensor) { return std::pow(static_cast<double>(tensor.numel()), 0.5); }

  void update_one(Slot& slot, double lr) const override {
    at::Tensor& parameter = slot.parameter;
    slot.state["step"] += 1;
    const double step = slot.state["step"].item<double>();
    const double weight = std::pow(step, o_.beta2_decay);
    const double rate = std::max(o_.eps[1], root_mean_square(parameter)) * std::min(lr, 1 / std::pow(step, 0.5));
    if (o_.weight_decay != 0) parameter.mul_(1 - lr * o_.weight_decay);
    at::Tensor change = variance_of(slot, parameter.grad(), weight).clamp_min_(o_.eps[0] * o_.eps[0]).rsqrt_();
    change.mul_(parameter.grad());
    const double size = at::linalg_vector_norm(change, 2).item<double>() / (root_of_size(change) * o_.d);
    parameter.add_(change, -rate / std::max(1.0, size));
  }

  // Averages the squared gradient, or its sums over the last two dimensions; returns the estimate for each element.
  at::Tensor variance_of(Slot& slot, const at::Tensor& gradient, double weight) const {
    if (gradient.dim() < 2) {
      at::Tensor& variance = slot.state["variance"];
      variance.lerp_(gradient * gradient, weight);
      return variance.clone();
    }
    at::Tensor& row = slot.state["row_var"];
    at::Tensor& column = slot.state["col_var"];
    row.lerp_(mean_square(gradient, -1), weight);
    column.lerp_(mean_square(gradient, -2), weight);
    return at::matmul(row, column).div_(row.mean(-2, /*keepdim=*/true).clamp_min_(o_.eps[0]));
  }

  static at::Tensor mean_square(const at::Tensor& gradient, std::int64_t dimension) {
    return at::linalg_vector_norm(gradient, 2, dimension, /*keepdim=*/true).square_().div_(gradient.size(dimension));
  }

  const AdafactorOptions o_;
};

const bool adafactor = optimizers().add<AdafactorOptions>(
    "adafactor", "adaptive steps with factored second moments (Shazeer and Stern 2018)", config::made<Adafactor>);

}  // namespace
}  // namespace ddp::train
