#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "train/optim/optimizer.h"

namespace ddp::train {
namespace {

// The options that Adam and its kin share.
struct MomentOptions {
  double lr = 1e-3;
  std::vector<double> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  void fields(config::Fields& f) {
    f(lr_option(), lr);
    f({.name = "betas",
       .doc = "decay of the averages of gradient and squared gradient",
       .range = config::from_below(0, 1),
       .length = 2},
      betas);
    f({.name = "eps", .doc = "added to the denominator", .range = config::at_least(0)}, eps);
    f({.name = "weight_decay", .doc = "weight decay", .aliases = {"wd"}, .range = config::at_least(0)}, weight_decay);
  }
};

// The averages of a parameter after another gradient.
struct Moments {
  at::Tensor gradient;
  at::Tensor& average;
  at::Tensor& square;  // of the squared gradient
  double step = 0;
};

// Counts the step, decays the weights (`decoupled`) or the gradient, and averages it.
Moments next_moments(Optimizer::Slot& slot, const MomentOptions& o, bool decoupled, double lr) {
  slot.state["step"] += 1;
  Moments m{.gradient = slot.parameter.grad(),
            .average = slot.state["exp_avg"],
            .square = slot.state["exp_avg_sq"],
            .step = slot.state["step"].item<double>()};
  if (o.weight_decay != 0) {
    if (decoupled) {
      slot.parameter.mul_(1 - lr * o.weight_decay);
    } else {
      m.gradient = m.gradient.add(slot.parameter, o.weight_decay);
    }
  }
  m.average.lerp_(m.gradient, 1 - o.betas[0]);
  m.square.mul_(o.betas[1]).addcmul_(m.gradient, m.gradient, 1 - o.betas[1]);
  return m;
}

struct AdamOptions : MomentOptions {
  bool amsgrad = false;
  bool fused = true;
  void fields(config::Fields& f) {
    MomentOptions::fields(f);
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
    if (steps.front().is_cpu()) {
      // at::_foreach_add_ takes a microsecond for each of them.
      for (const at::Tensor& step : steps) *step.mutable_data_ptr<float>() += 1;
    } else {
      at::_foreach_add_(steps, 1);
    }
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
    const Moments m = next_moments(slot, o_, decoupled_, lr);
    const double correction1 = 1 - std::pow(o_.betas[0], m.step);
    const double correction2 = 1 - std::pow(o_.betas[1], m.step);
    // Python's `** 0.5` is pow; sqrt differs in the last bit now and then.
    const double root = std::pow(correction2, 0.5);
    at::Tensor denominator = m.square;
    if (o_.amsgrad) {
      at::Tensor& largest = slot.state["max_exp_avg_sq"];
      at::maximum_out(largest, largest, m.square);
      denominator = largest;
    }
    slot.parameter.addcdiv_(m.average, (denominator.sqrt() / root).add_(o_.eps), -(lr / correction1));
  }

  const AdamOptions o_;
  const bool decoupled_;  // AdamW: the decay is not part of the gradient
};

const bool adam = optimizers().add<AdamOptions>(
    "adam", "Adam (Kingma and Ba 2015)",
    [](const AdamOptions& o, const NamedTensors& named) { return std::make_unique<Adam>(o, false, named); },
    {{kNumberByNumber, true}});

const bool adamw = optimizers().add<AdamWOptions>(
    "adamw", "Adam with decoupled weight decay (Loshchilov and Hutter 2019)",
    [](const AdamWOptions& o, const NamedTensors& named) { return std::make_unique<Adam>(o, true, named); },
    {{kNumberByNumber, true}});

// The same, with a choice of the weights' decay.
struct DecayOptions : MomentOptions {
  bool decoupled_weight_decay = false;
  void fields(config::Fields& f) {
    MomentOptions::fields(f);
    f({.name = "decoupled_weight_decay", .doc = "decay the weights as adamw does, not the gradient"},
      decoupled_weight_decay);
  }
};

// torch/optim/radam.py: _single_tensor_radam.
class Radam : public LoopOptimizer {
 public:
  Radam(const DecayOptions& o, const NamedTensors& named) : LoopOptimizer(named, o.lr), o_(o) {}

 private:
  std::vector<std::string> kept(const Slot&) const override { return {"step", "exp_avg", "exp_avg_sq"}; }

  void update_one(Slot& slot, double lr) const override {
    const Moments m = next_moments(slot, o_, o_.decoupled_weight_decay, lr);
    const double correction1 = 1 - std::pow(o_.betas[0], m.step);
    const double correction2 = 1 - std::pow(o_.betas[1], m.step);
    at::Tensor change = m.average / correction1 * lr;
    // The lengths of the simple moving average: of an endless run, and now.
    const double endless = 2 / (1 - o_.betas[1]) - 1;
    const double length = endless - 2 * m.step * std::pow(o_.betas[1], m.step) / correction2;
    if (length > 5.0) {
      const double variance = (length - 4) * (length - 2) * endless / ((endless - 4) * (endless - 2) * length);
      // Python's number / tensor is reciprocal() * number.
      change =
          change * (m.square.sqrt().add_(o_.eps).reciprocal() * std::pow(correction2, 0.5)) * std::pow(variance, 0.5);
    }
    slot.parameter.add_(change, -1.0);
  }

  const DecayOptions o_;
};

const bool radam =
    optimizers().add<DecayOptions>("radam", "Adam with a rectified adaptive learning rate (Liu et al. 2019)",
                                   config::made<Radam>, {{kNumberByNumber, true}});

struct NadamOptions : DecayOptions {
  NadamOptions() { lr = 2e-3; }
  double momentum_decay = 4e-3;
  void fields(config::Fields& f) {
    DecayOptions::fields(f);
    f({.name = "momentum_decay", .doc = "decay of the momentum over the steps", .range = config::at_least(0)},
      momentum_decay);
  }
};

// torch/optim/nadam.py: _single_tensor_nadam.
class Nadam : public LoopOptimizer {
 public:
  Nadam(const NadamOptions& o, const NamedTensors& named) : LoopOptimizer(named, o.lr), o_(o) {}

 private:
  std::vector<std::string> kept(const Slot&) const override { return {"step", "mu_product", "exp_avg", "exp_avg_sq"}; }

  void start(Slot& slot) const override {
    LoopOptimizer::start(slot);
    slot.state["mu_product"].fill_(1);
  }

  void update_one(Slot& slot, double lr) const override {
    const Moments m = next_moments(slot, o_, o_.decoupled_weight_decay, lr);
    const double mu = momentum_of(m.step);
    const double mu_next = momentum_of(m.step + 1);
    slot.state["mu_product"] *= mu;
    const double product = slot.state["mu_product"].item<double>();
    const at::Tensor denominator = m.square.div(1 - std::pow(o_.betas[1], m.step)).sqrt().add_(o_.eps);
    slot.parameter.addcdiv_(m.gradient, denominator, -lr * (1.0 - mu) / (1.0 - product));
    slot.parameter.addcdiv_(m.average, denominator, -lr * mu_next / (1.0 - product * mu_next));
  }

  double momentum_of(double step) const { return o_.betas[0] * (1.0 - 0.5 * std::pow(0.96, step * o_.momentum_decay)); }

  const NadamOptions o_;
};

const bool nadam = optimizers().add<NadamOptions>("nadam", "Adam with Nesterov momentum (Dozat 2016)",
                                                  config::made<Nadam>, {{kNumberByNumber, true}});

struct LambOptions : MomentOptions {
  LambOptions() { eps = 1e-6; }
};

// You and others 2020, "Large Batch Optimization for Deep Learning", algorithm 2, with the identity as phi: Adam's
// update, with the weights' decay in it, has the norm of its parameter. One of zeros takes the rate as it is.
class Lamb : public LoopOptimizer {
 public:
  Lamb(const LambOptions& o, const NamedTensors& named) : LoopOptimizer(named, o.lr), o_(o) {}

 private:
  std::vector<std::string> kept(const Slot&) const override { return {"step", "exp_avg", "exp_avg_sq"}; }

  void update_one(Slot& slot, double lr) const override {
    MomentOptions without_decay = o_;
    without_decay.weight_decay = 0;
    const Moments m = next_moments(slot, without_decay, /*decoupled=*/true, lr);
    const at::Tensor denominator = m.square.div(1 - std::pow(o_.betas[1], m.step)).sqrt_().add_(o_.eps);
    const at::Tensor change = m.average.div(1 - std::pow(o_.betas[0], m.step)).div_(denominator);
    if (o_.weight_decay != 0) change.add_(slot.parameter, o_.weight_decay);
    const double of_weights = at::linalg_vector_norm(slot.parameter, 2).item<double>();
    const double of_change = at::linalg_vector_norm(change, 2).item<double>();
    slot.parameter.add_(change, -lr * (of_weights > 0 && of_change > 0 ? of_weights / of_change : 1));
  }

  const LambOptions o_;
};

const bool lamb =
    optimizers().add<LambOptions>("lamb", "Adam with a rate for each layer (You and others 2020)", config::made<Lamb>);

}  // namespace
}  // namespace ddp::train
