#include <ATen/core/Tensor.h>

#include "train/optim/optimizer.h"

namespace ddp::train {
namespace {

struct LionOptions {
  double lr = 1e-4;
  std::vector<double> betas{0.9, 0.99};
  double weight_decay = 0;
  void fields(config::Fields& f) {
    f(lr_option(), lr);
    f({.name = "betas",
       .doc = "share of the average in the update, and decay of the average",
       .range = config::from_below(0, 1),
       .length = 2},
      betas);
    f({.name = "weight_decay", .doc = "weight decay", .aliases = {"wd"}, .range = config::at_least(0)}, weight_decay);
  }
};

// Chen and others 2023, "Symbolic Discovery of Optimization Algorithms", algorithm 2: the step is the sign of an
// interpolation between the gradient and its average, with decoupled weight decay.
class Lion : public LoopOptimizer {
 public:
  Lion(const LionOptions& o, const NamedTensors& named) : LoopOptimizer(named, o.lr), o_(o) {}

 private:
  std::vector<std::string> kept(const Slot&) const override { return {"exp_avg"}; }

  void update_one(Slot& slot, double lr) const override {
    at::Tensor& average = slot.state["exp_avg"];
    const at::Tensor gradient = slot.parameter.grad();
    if (o_.weight_decay != 0) slot.parameter.mul_(1 - lr * o_.weight_decay);
    const at::Tensor direction = average.mul(o_.betas[0]).add_(gradient, 1 - o_.betas[0]).sign_();
    slot.parameter.add_(direction, -lr);
    average.mul_(o_.betas[1]).add_(gradient, 1 - o_.betas[1]);
  }

  const LionOptions o_;
};

const bool lion_registered =
    optimizers().add<LionOptions>("lion", "Lion (Chen and others 2023)", config::made<Lion>, {{kNumberByNumber, true}});

}  // namespace
}  // namespace ddp::train
