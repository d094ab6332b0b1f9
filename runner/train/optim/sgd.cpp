#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/empty_like.h>

#include "base/error.h"
#include "train/optim/optimizer.h"

namespace ddp::train {
namespace {

constexpr const char* kMomentum = "momentum_buffer";

struct SgdOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
  bool fused = true;
  void fields(config::Fields& f) {
    f(lr_option(), lr);
    f({.name = "momentum", .doc = "momentum factor", .range = config::at_least(0)}, momentum);
    f({.name = "dampening", .doc = "dampening of momentum"}, dampening);
    f({.name = "weight_decay", .doc = "L2 penalty", .aliases = {"wd"}, .range = config::at_least(0)}, weight_decay);
    f({.name = "nesterov", .doc = "Nesterov momentum; needs momentum > 0 and no dampening"}, nesterov);
    f({.name = "fused", .doc = "one kernel for all parameters, as Python's fused=True"}, fused);
  }
};

// torch/optim/sgd.py: _fused_sgd and _single_tensor_sgd.
class Sgd : public Optimizer {
 public:
  Sgd(const SgdOptions& o, const NamedTensors& named) : Optimizer(named, o.lr), o_(o) {
    if (o.nesterov && (o.momentum <= 0 || o.dampening != 0)) {
      throw usage_error("nesterov needs a momentum and no dampening", "optimizer.nesterov",
                        "give momentum, such as 0.9, and leave dampening at 0");
    }
  }

 private:
  std::vector<std::string> kept(const Slot&) const override {
    return o_.momentum != 0 ? std::vector<std::string>{kMomentum} : std::vector<std::string>{};
  }

  void update(const std::vector<Slot*>& slots, double lr) override {
    if (!o_.fused) {
      for (Slot* slot : slots) update_one(*slot, lr);
      return;
    }
    // The first gradient of a parameter initializes its momentum; later gradients are averaged into it.
    std::vector<Slot*> first;
    std::vector<Slot*> later;
    for (Slot* slot : slots) {
      const bool is_first = o_.momentum != 0 && !slot->state.contains(kMomentum);
      if (is_first) slot->state[kMomentum] = at::empty_like(slot->parameter.grad());
      (is_first ? first : later).push_back(slot);
    }
    if (!first.empty()) fused(first, lr, true);
    if (!later.empty()) fused(later, lr, false);
  }

  void fused(const std::vector<Slot*>& slots, double lr, bool is_first_step) {
    std::vector<at::Tensor> momentum;
    if (o_.momentum != 0) momentum = states(slots, kMomentum);
    at::_fused_sgd_(parameters(slots), gradients(slots), momentum, o_.weight_decay, o_.momentum, lr, o_.dampening,
                    o_.nesterov, /*maximize=*/false, is_first_step);
  }

  void update_one(Slot& slot, double lr) {
    at::Tensor gradient = slot.parameter.grad();
    if (o_.weight_decay != 0) gradient = gradient.add(slot.parameter, o_.weight_decay);
    if (o_.momentum != 0) {
      at::Tensor& buffer = slot.state[kMomentum];
      if (buffer.defined()) {
        buffer.mul_(o_.momentum).add_(gradient, 1 - o_.dampening);
      } else {
        buffer = gradient.detach().clone();
      }
      gradient = o_.nesterov ? gradient.add(buffer, o_.momentum) : buffer;
    }
    slot.parameter.add_(gradient, -lr);
  }

  const SgdOptions o_;
};

const bool sgd_registered = optimizers().add<SgdOptions>("sgd", "stochastic gradient descent, with optional momentum",
                                                         config::made<Sgd>, {{kNumberByNumber, true}});

}  // namespace
}  // namespace ddp::train
