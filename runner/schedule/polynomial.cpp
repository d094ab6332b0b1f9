#include <cmath>

#include "schedule/scheduler.h"

namespace ddp::schedule {
namespace {

struct PolynomialOptions : Warmup {
  double power = 1;
  double min_lr = 0;
  void fields(config::Fields& f) {
    f({.name = "power", .doc = "power of the remaining share of the run", .range = config::above(0)}, power);
    f({.name = "min_lr", .doc = "lr at the end", .range = config::at_least(0)}, min_lr);
    Warmup::fields(f);
  }
};

// torch.optim.lr_scheduler.PolynomialLR over the run after the warm-up, with a final lr.
const bool polynomial_registered = schedulers().add<PolynomialOptions>(
    "polynomial", "a power of the remaining share of the run, from lr to min_lr",
    [](const PolynomialOptions& o, const Horizon& horizon) {
      return with_warmup(o, horizon, [min = o.min_lr, power = o.power, lr = horizon.lr](std::int64_t, double progress) {
        return min + (lr - min) * std::pow(1 - progress, power);
      });
    });

}  // namespace
}  // namespace ddp::schedule
