#include <algorithm>
#include <cmath>

#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>
#include <c10/util/StringUtil.h>

#include "base/error.h"
#include "train/optim/optimizer.h"

namespace ddp::train {
namespace {

struct MuonOptions {
  double lr = 1e-3;
  double weight_decay = 0.1;
  double momentum = 0.95;
  bool nesterov = true;
  std::vector<double> ns_coefficients{3.4445, -4.7750, 2.0315};
  double eps = 1e-7;
  std::int64_t ns_steps = 5;
  std::string adjust_lr_fn = "original";
  void fields(config::Fields& f) {
    f(lr_option(), lr);
    f({.name = "weight_decay", .doc = "decoupled weight decay", .aliases = {"wd"}, .range = config::at_least(0)},
      weight_decay);
    f({.name = "momentum", .doc = "decay of the average of gradients", .range = config::from_below(0, 1)}, momentum);
    f({.name = "nesterov", .doc = "Nesterov momentum"}, nesterov);
    f({.name = "ns_coefficients", .doc = "coefficients of the Newton-Schulz polynomial", .length = 3}, ns_coefficients);
    f({.name = "eps", .doc = "least norm of an update before it is made orthogonal", .range = config::above(0)}, eps);
    f({.name = "ns_steps", .doc = "iterations of Newton-Schulz", .range = config::between(1, 99)}, ns_steps);
    f({.name = "adjust_lr_fn",
       .doc = "scale of an update: by the shape of its matrix, or to the size of AdamW's updates",
       .choices = {"original", "match_rms_adamw"}},
      adjust_lr_fn);
  }
};

// torch/optim/_muon.py: _single_tensor_muon.
class Muon : public LoopOptimizer {
 public:
  Muon(const MuonOptions& o, const NamedTensors& named) : LoopOptimizer(named, o.lr), o_(o) {
    for (const Slot& slot : slots()) {
      if (slot.parameter.dim() == 2) continue;
      throw usage_error(
          "muon updates matrices, and \"" + slot.name + "\" has the shape " + c10::str(slot.parameter.sizes()),
          "optimizer",
          "give muon to the matrices alone, with another optimizer at the top: [[groups]] match = "
          "[\"ndim==2\"], optimizer = \"muon\", lr = 0.02");
    }
  }

 private:
  std::vector<std::string> kept(const Slot&) const override { return {"momentum_buffer"}; }

  void update_one(Slot& slot, double lr) const override {
    const at::Tensor gradient = slot.parameter.grad();
    at::Tensor& average = slot.state["momentum_buffer"];
    average.lerp_(gradient, 1 - o_.momentum);
    const at::Tensor change = orthogonal(o_.nesterov ? gradient.lerp(average, o_.momentum) : average);
    slot.parameter.mul_(1 - lr * o_.weight_decay);
    slot.parameter.add_(change, -lr * scale_of(slot.parameter));
  }

  // The nearest orthogonal matrix, about: some Newton-Schulz iterations in bfloat16.
  at::Tensor orthogonal(const at::Tensor& matrix) const {
    const bool is_tall = matrix.size(0) > matrix.size(1);
    at::Tensor x = matrix.to(at::kBFloat16);
    if (is_tall) x = x.t();
    x.div_(x.norm().clamp_min(o_.eps));
    for (std::int64_t i = 0; i < o_.ns_steps; ++i) {
      const at::Tensor gram = at::mm(x, x.t());
      const at::Tensor update = at::addmm(gram, gram, gram, o_.ns_coefficients[1], o_.ns_coefficients[2]);
      x = at::addmm(x, update, x, o_.ns_coefficients[0]);
    }
    return is_tall ? x.t() : x;
  }

  double scale_of(const at::Tensor& matrix) const {
    const auto rows = static_cast<double>(matrix.size(0)), columns = static_cast<double>(matrix.size(1));
    return o_.adjust_lr_fn == "original" ? std::sqrt(std::max(1.0, rows / columns))
                                         : 0.2 * std::sqrt(std::max(rows, columns));
  }

  const MuonOptions o_;
};

const bool muon = optimizers().add<MuonOptions>("muon", "orthogonal updates of matrices (Jordan and others 2024)",
                                                config::made<Muon>);

}  // namespace
}  // namespace ddp::train
