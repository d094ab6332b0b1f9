#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "train/optim/optimizer.h"

namespace ddp::train {
namespace {

struct AdamOptions {
  double lr = 1e-3;
  std::vector<double> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  bool amsgrad = false;
  bool fused = true;
  void fields(config::Fields& f) {
    f(lr_option(), lr);
    f(betas_option(), betas);
    f({.name = "eps", .doc = "added to the denominator", .range = config::at_least(0)}, eps);
    f({.name = "weight_decay", .doc = "weight decay", .aliases = {"wd"}, .range = config::at_least(0)}, weight_decay);
    f({.name = "amsgrad", .doc = "use the AMSGrad variant"}, amsgrad);
    f({.name = "fused", .doc = "one kernel for all parameters, as Python's fused=True"}, fused);
  }
};

struct AdamWOptions : AdamOptions {
  AdamWOptions() { weight_decay = 0.01; }
};

// torch/optim/adam.py: _fused_adam and _single_tensor_adam. LibTorch's Adam uses mul and add where Python uses lerp,
// which gives other bits.
class Adam : public Optimizer {
 public:
  Adam(const AdamOptions& o, bool decoupled, const NamedTensors& named)
      : Optimizer(named, o.lr), o_(o), decoupled_(decoupled) {}

 private:
  std::vector<std::string> kept(const Slot&) const override {
    std::vector<std::string> names{"step", "exp_avg", "exp_avg_sq"};
    if (o_.amsgrad) names.push_back("max_exp_avg_sq");
    return names;
  }

  // Python keeps the step count on the device only for the fused kernel.
  c10::Device device_of(const std::string& what, const Slot& slot) const override {
    return what == "step" && !o_.fused ? c10::Device(c10::kCPU) : slot.parameter.device();
  }

  void update(const std::vector<Slot*>& slots, double lr) override {
    for (Slot* slot : slots) start(*slot);
    if (o_.fused) {
      fused(slots, lr);
    } else {
      for (Slot* slot : slots) update_one(*slot, lr);
    }
  }

  void start(Slot& slot) {
    if (!slot.state.empty()) return;
    slot.state["step"] = at::zeros({}, at::TensorOptions(at::kFloat).device(device_of("step", slot)));
    slot.state["exp_avg"] = at::zeros_like(slot.parameter);
    slot.state["exp_avg_sq"] = at::zeros_like(slot.parameter);
    if (o_.amsgrad) slot.state["max_exp_avg_sq"] = at::zeros_like(slot.parameter);
  }

  void fused(const std::vector<Slot*>& slots, double lr) {
    const auto steps = states(slots, "step");
    at::_foreach_add_(steps, 1);
    std::vector<at::Tensor> largest;
    if (o_.amsgrad) largest = states(slots, "max_exp_avg_sq");
    const auto run = [&](auto kernel) {
      kernel(parameters(slots), gradients(slots), states(slots, "exp_avg"), states(slots, "exp_avg_sq"), largest, steps,
             lr, o_.betas[0], o_.betas[1], o_.weight_decay, o_.eps, o_.amsgrad, /*maximize=*/false, std::nullopt,
             std::nullopt);
    };
    using Kernel = void (*)(at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList,
                            at::TensorList, double, double, double, double, double, bool, bool,
                            const std::optional<at::Tensor>&, const std::optional<at::Tensor>&);
    decoupled_ ? run(static_cast<Kernel>(at::_fused_adamw_)) : run(static_cast<Kernel>(at::_fused_adam_));
  }

  void update_one(Slot& slot, double lr) {
    at::Tensor& average = slot.state["exp_avg"];
    at::Tensor& square = slot.state["exp_avg_sq"];
    at::Tensor gradient = slot.parameter.grad();
    slot.state["step"] += 1;
    const double step = slot.state["step"].item<double>();
    if (o_.weight_decay != 0) {
      if (decoupled_) {
        slot.parameter.mul_(1 - lr * o_.weight_decay);
      } else {
        gradient = gradient.add(slot.parameter, o_.weight_decay);
      }
    }
    average.lerp_(gradient, 1 - o_.betas[0]);
    square.mul_(o_.betas[1]).addcmul_(gradient, gradient, 1 - o_.betas[1]);
    const double correction1 = 1 - std::pow(o_.betas[0], step);
    const double correction2 = 1 - std::pow(o_.betas[1], step);
    // Python's `** 0.5` is pow; sqrt differs in the last bit now and then.
    const double root = std::pow(correction2, 0.5);
    at::Tensor denominator = square;
    if (o_.amsgrad) {
      at::Tensor& largest = slot.state["max_exp_avg_sq"];
      at::maximum_out(largest, largest, square);
      denominator = largest;
    }
    slot.parameter.addcdiv_(average, (denominator.sqrt() / root).add_(o_.eps), -(lr / correction1));
  }

  const AdamOptions o_;
  const bool decoupled_;  // AdamW: the decay is not part of the gradient
};

const bool adam = optimizers().add<AdamOptions>(
    "adam", "Adam (Kingma and Ba 2015)",
    [](const AdamOptions& o, const NamedTensors& named) { return std::make_unique<Adam>(o, false, named); });

const bool adamw = optimizers().add<AdamWOptions>(
    "adamw", "Adam with decoupled weight decay (Loshchilov and Hutter 2019)",
    [](const AdamWOptions& o, const NamedTensors& named) { return std::make_unique<Adam>(o, true, named); });

}  // namespace
}  // namespace ddp::train
