#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_fused_adagrad.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/zeros.h>

#include "train/optim/optimizer.h"

namespace ddp::train {
namespace {

struct AdagradOptions {
  double lr = 1e-2;
  double lr_decay = 0;
  double weight_decay = 0;
  double initial_accumulator_value = 0;
  double eps = 1e-10;
  bool fused = true;
  void fields(config::Fields& f) {
    f(lr_option(), lr);
    f({.name = "lr_decay", .doc = "step t (from 0) divides the rate by 1 + t lr_decay", .range = config::at_least(0)},
      lr_decay);
    f({.name = "weight_decay", .doc = "L2 penalty", .aliases = {"wd"}, .range = config::at_least(0)}, weight_decay);
    f({.name = "initial_accumulator_value",
       .doc = "first value of the sum of squared gradients",
       .range = config::at_least(0)},
      initial_accumulator_value);
    f({.name = "eps", .doc = "added to the denominator", .range = config::at_least(0)}, eps);
    f({.name = "fused", .doc = "one kernel for all parameters, as Python's fused=True; only on a CPU"}, fused);
  }
};

// torch/optim/adagrad.py: _fused_adagrad and _single_tensor_adagrad.
class Adagrad : public Optimizer {
 public:
  Adagrad(const AdagradOptions& o, const NamedTensors& named) : Optimizer(named, o.lr), o_(o) {
    for (Slot& slot : slots()) {
      slot.state["step"] = at::zeros({}, at::TensorOptions(at::kFloat).device(device_of("step", slot)));
      slot.state["sum"] = at::full_like(slot.parameter, o.initial_accumulator_value).detach();
    }
  }

 private:
  std::vector<std::string> kept(const Slot&) const override { return {"step", "sum"}; }

  // Torch has a fused kernel only for the CPU. On other devices the loop runs, which keeps the step count on the CPU.
  c10::Device device_of(const std::string& what, const Slot& slot) const override {
    return what == "step" ? c10::Device(c10::kCPU) : slot.parameter.device();
  }

  void update(const std::vector<Slot*>& slots, double lr) override {
    if (!o_.fused || !slots.front()->parameter.is_cpu()) {
      for (Slot* slot : slots) update_one(*slot, lr);
      return;
    }
    const auto steps = states(slots, "step");
    at::_foreach_add_(steps, 1);
    at::_fused_adagrad_(parameters(slots), gradients(slots), states(slots, "sum"), steps, lr, o_.lr_decay,
                        o_.weight_decay, o_.eps, /*maximize=*/false);
  }

  void update_one(Slot& slot, double lr) const {
    at::Tensor gradient = slot.parameter.grad();
    slot.state["step"] += 1;
    const double step = slot.state["step"].item<double>();
    if (o_.weight_decay != 0) gradient = gradient.add(slot.parameter, o_.weight_decay);
    const double rate = lr / (1 + (step - 1) * o_.lr_decay);
    at::Tensor& sum = slot.state["sum"];
    sum.addcmul_(gradient, gradient, 1);
    slot.parameter.addcdiv_(gradient, sum.sqrt().add_(o_.eps), -rate);
  }

  const AdagradOptions o_;
};

const bool adagrad_registered = optimizers().add<AdagradOptions>("adagrad", "Adagrad (Duchi and others 2011)",
                                                                 config::made<Adagrad>, {{kNumberByNumber, true}});

}  // namespace
}  // namespace ddp::train
