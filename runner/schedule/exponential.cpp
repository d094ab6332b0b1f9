#include <cmath>

#include "schedule/scheduler.h"

namespace ddp::schedule {
namespace {

struct ExponentialOptions : Warmup {
  double gamma = 0;
  void fields(config::Fields& f) {
    f({.name = "gamma", .doc = "factor of each step", .range = config::above(0), .required = true}, gamma);
    Warmup::fields(f);
  }
};

// torch.optim.lr_scheduler.ExponentialLR.
const bool exponential_registered = schedulers().add<ExponentialOptions>(
    "exponential", "lr times gamma after every step", [](const ExponentialOptions& o, const Horizon& horizon) {
      return with_warmup(o, horizon, [gamma = o.gamma, lr = horizon.lr](std::int64_t since, double) {
        return lr * std::pow(gamma, static_cast<double>(since));
      });
    });

}  // namespace
}  // namespace ddp::schedule
