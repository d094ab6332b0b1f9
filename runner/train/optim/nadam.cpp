#include <cmath>

#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "train/optim/optimizer.h"

namespace ddp::train {
namespace {

struct NadamOptions {
  double lr = 2e-3;
  std::vector<double> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum_decay = 4e-3;
  bool decoupled_weight_decay = false;
  void fields(config::Fields& f) {
    f(lr_option(), lr);
    f(betas_option(), betas);
    f({.name = "eps", .doc = "added to the denominator", .range = config::at_least(0)}, eps);
    f({.name = "weight_decay", .doc = "weight decay", .aliases = {"wd"}, .range = config::at_least(0)}, weight_decay);
    f({.name = "momentum_decay", .doc = "decay of the momentum over the steps", .range = config::at_least(0)},
      momentum_decay);
    f({.name = "decoupled_weight_decay", .doc = "decay the weights as adamw does, not the gradient"},
      decoupled_weight_decay);
  }
};

// torch/optim/nadam.py: _single_tensor_nadam. Torch has no fused kernel for it.
class Nadam : public Optimizer {
 public:
  Nadam(const NadamOptions& o, const NamedTensors& named) : Optimizer(named, o.lr), o_(o) {}

 private:
  std::vector<std::string> kept(const Slot&) const override { return {"step", "mu_product", "exp_avg", "exp_avg_sq"}; }

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
    slot.state["mu_product"] = at::ones({}, at::kFloat);
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
    const double mu = momentum_of(step);
    const double mu_next = momentum_of(step + 1);
    slot.state["mu_product"] *= mu;
    const double product = slot.state["mu_product"].item<double>();
    average.lerp_(gradient, 1 - o_.betas[0]);
    square.mul_(o_.betas[1]).addcmul_(gradient, gradient, 1 - o_.betas[1]);
    const at::Tensor denominator = square.div(1 - std::pow(o_.betas[1], step)).sqrt().add_(o_.eps);
    slot.parameter.addcdiv_(gradient, denominator, -lr * (1.0 - mu) / (1.0 - product));
    slot.parameter.addcdiv_(average, denominator, -lr * mu_next / (1.0 - product * mu_next));
  }

  double momentum_of(double step) const { return o_.betas[0] * (1.0 - 0.5 * std::pow(0.96, step * o_.momentum_decay)); }

  const NadamOptions o_;
};

const bool nadam = optimizers().add<NadamOptions>(
    "nadam", "Adam with Nesterov momentum (Dozat 2016)",
    [](const NadamOptions& o, const NamedTensors& named) { return std::make_unique<Nadam>(o, named); });

}  // namespace
}  // namespace ddp::train
