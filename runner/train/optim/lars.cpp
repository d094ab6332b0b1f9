#include <ATen/ops/linalg_vector_norm.h>

#include "train/optim/optimizer.h"

namespace ddp::train {
namespace {

struct LarsOptions {
  double lr = 1e-2;
  double momentum = 0.9;
  double weight_decay = 0;
  double trust_coefficient = 1e-3;
  double eps = 1e-8;
  void fields(config::Fields& f) {
    f(lr_option(), lr);
    f({.name = "momentum", .doc = "momentum factor", .range = config::from_below(0, 1)}, momentum);
    f({.name = "weight_decay", .doc = "weight decay", .aliases = {"wd"}, .range = config::at_least(0)}, weight_decay);
    f({.name = "trust_coefficient", .doc = "size of an update relative to its weights", .range = config::above(0)},
      trust_coefficient);
    f({.name = "eps", .doc = "added to the denominator of the trust ratio", .range = config::at_least(0)}, eps);
  }
};

// You, Gitman and Ginsburg 2017, "Large Batch Training of Convolutional Networks", algorithm 1: the rate of a
// parameter is proportional to the ratio of its norm and its gradient's. A parameter or a gradient of zeros takes the
// rate as it is.
class Lars : public LoopOptimizer {
 public:
  Lars(const LarsOptions& o, const NamedTensors& named) : LoopOptimizer(named, o.lr), o_(o) {}

 private:
  std::vector<std::string> kept(const Slot&) const override { return {"momentum_buffer"}; }

  void update_one(Slot& slot, double lr) const override {
    const at::Tensor gradient = slot.parameter.grad();
    const double of_weights = at::linalg_vector_norm(slot.parameter, 2).item<double>();
    const double of_gradient = at::linalg_vector_norm(gradient, 2).item<double>();
    const double trust = of_weights > 0 && of_gradient > 0
                             ? o_.trust_coefficient * of_weights / (of_gradient + o_.weight_decay * of_weights + o_.eps)
                             : 1;
    at::Tensor& velocity = slot.state["momentum_buffer"];
    velocity.mul_(o_.momentum).add_(gradient.add(slot.parameter, o_.weight_decay), lr * trust);
    slot.parameter.sub_(velocity);
  }

  const LarsOptions o_;
};

const bool lars =
    optimizers().add<LarsOptions>("lars", "SGD with a rate for each layer (You and others 2017)", config::made<Lars>);

}  // namespace
}  // namespace ddp::train
