#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "train/optim/optimizer.h"

namespace ddp::train {
namespace {

struct RadamOptions {
  double lr = 1e-3;
  std::vector<double> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  bool decoupled_weight_decay = false;
  void fields(config::Fields& f) {
    f(lr_option(), lr);
    f(betas_option(), betas);
    f({.name = "eps", .doc = "added to the denominator", .range = config::at_least(0)}, eps);
    f({.name = "weight_decay", .doc = "weight decay", .aliases = {"wd"}, .range = config::at_least(0)}, weight_decay);
    f({.name = "decoupled_weight_decay", .doc = "decay the weights as adamw does, not the gradient"},
      decoupled_weight_decay);
  }
};

// torch/optim/radam.py: _single_tensor_radam. Torch has no fused kernel for it.
class Radam : public Optimizer {
 public:
  Radam(const RadamOptions& o, const NamedTensors& named) : Optimizer(named, o.lr), o_(o) {}

 private:
  std::vector<std::string> kept(const Slot&) const override { return {"step", "exp_avg", "exp_avg_sq"}; }

  c10::Device device_of(const std::string& what, const Slot& slot) const override {
    return is_one_number(what) ? c10::Device(c10::kCPU) : slot.parameter.device();
  }

  void update(const std::vector<Slot*>& slots, double lr) override {
    for (Slot* slot : slots) {
      start(*slot);
      update_one(*slot, lr);
    }
  }

  static void start(Slot& slot) {
    if (!slot.state.empty()) return;
    slot.state["step"] = at::zeros({}, at::kFloat);
    slot.state["exp_avg"] = at::zeros_like(slot.parameter);
    slot.state["exp_avg_sq"] = at::zeros_like(slot.parameter);
  }

  void update_one(Slot& slot, double lr) const {
    at::Tensor& average = slot.state["exp_avg"];
    at::Tensor& square = slot.state["exp_avg_sq"];
    at::Tensor gradient = slot.parameter.grad();
    slot.state["step"] += 1;
    const double step = slot.state["step"].item<double>();
    if (o_.weight_decay != 0 && o_.decoupled_weight_decay) slot.parameter.mul_(1 - lr * o_.weight_decay);
    if (o_.weight_decay != 0 && !o_.decoupled_weight_decay) {
      gradient = gradient.add(slot.parameter, o_.weight_decay);
    }
    average.lerp_(gradient, 1 - o_.betas[0]);
    square.mul_(o_.betas[1]).addcmul_(gradient, gradient, 1 - o_.betas[1]);
    const double correction1 = 1 - std::pow(o_.betas[0], step);
    const double correction2 = 1 - std::pow(o_.betas[1], step);
    at::Tensor change = average / correction1 * lr;
    // The lengths of the simple moving average: of an endless run, and now.
    const double endless = 2 / (1 - o_.betas[1]) - 1;
    const double length = endless - 2 * step * std::pow(o_.betas[1], step) / correction2;
    if (length > 5.0) {
      const double variance = (length - 4) * (length - 2) * endless / ((endless - 4) * (endless - 2) * length);
      // Python's number / tensor is reciprocal() * number.
      change =
          change * (square.sqrt().add_(o_.eps).reciprocal() * std::pow(correction2, 0.5)) * std::pow(variance, 0.5);
    }
    slot.parameter.add_(change, -1.0);
  }

  const RadamOptions o_;
};

const bool radam = optimizers().add<RadamOptions>(
    "radam", "Adam with a rectified adaptive learning rate (Liu et al. 2019)",
    [](const RadamOptions& o, const NamedTensors& named) { return std::make_unique<Radam>(o, named); });

}  // namespace
}  // namespace ddp::train
