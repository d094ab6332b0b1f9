#include <ATen/core/Tensor.h>

#include "train/optim/optimizer.h"

namespace ddp::train {
namespace {

struct RmspropOptions {
  double lr = 1e-2;
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum = 0;
  bool centered = false;
  void fields(config::Fields& f) {
    f(lr_option(), lr);
    f({.name = "alpha", .doc = "decay of the average of the squared gradient", .range = config::between(0, 1)}, alpha);
    f({.name = "eps", .doc = "added to the denominator", .range = config::at_least(0)}, eps);
    f({.name = "weight_decay", .doc = "L2 penalty", .aliases = {"wd"}, .range = config::at_least(0)}, weight_decay);
    f({.name = "momentum", .doc = "momentum factor", .range = config::at_least(0)}, momentum);
    f({.name = "centered", .doc = "divide the gradient by an estimate of its deviation"}, centered);
  }
};

// torch/optim/rmsprop.py: _single_tensor_rmsprop. Torch has no fused kernel for it.
class Rmsprop : public LoopOptimizer {
 public:
  Rmsprop(const RmspropOptions& o, const NamedTensors& named) : LoopOptimizer(named, o.lr), o_(o) {}

 private:
  std::vector<std::string> kept(const Slot&) const override {
    std::vector<std::string> names{"step", "square_avg"};
    if (o_.momentum > 0) names.push_back("momentum_buffer");
    if (o_.centered) names.push_back("grad_avg");
    return names;
  }

  void update_one(Slot& slot, double lr) const override {
    at::Tensor gradient = slot.parameter.grad();
    slot.state["step"] += 1;
    if (o_.weight_decay != 0) gradient = gradient.add(slot.parameter, o_.weight_decay);
    at::Tensor& square = slot.state["square_avg"];
    square.mul_(o_.alpha).addcmul_(gradient, gradient, 1 - o_.alpha);
    at::Tensor average;
    if (o_.centered) {
      at::Tensor& mean = slot.state["grad_avg"];
      mean.lerp_(gradient, 1 - o_.alpha);
      average = square.addcmul(mean, mean, -1).sqrt_();
    } else {
      average = square.sqrt();
    }
    average.add_(o_.eps);
    if (o_.momentum > 0) {
      at::Tensor& buffer = slot.state["momentum_buffer"];
      buffer.mul_(o_.momentum).addcdiv_(gradient, average);
      slot.parameter.add_(buffer, -lr);
    } else {
      slot.parameter.addcdiv_(gradient, average, -lr);
    }
  }

  const RmspropOptions o_;
};

const bool rmsprop_registered = optimizers().add<RmspropOptions>("rmsprop", "RMSprop (Hinton 2012)",
                                                                 config::made<Rmsprop>, {{kNumberByNumber, true}});

}  // namespace
}  // namespace ddp::train
