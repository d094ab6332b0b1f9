#include <cmath>
#include <numbers>

#include "schedule/scheduler.h"

namespace ddp::schedule {
namespace {

struct CosineRestartsOptions : Warmup {
  config::Value period;
  std::int64_t mult = 1;
  double min_lr = 0;
  void fields(config::Fields& f) {
    add_run_part(f, "period", "steps to the first restart, or \"10 epochs\" or \"5%\"", period, /*least=*/1,
                 /*required=*/true);
    f({.name = "mult", .doc = "factor of the period at each restart", .range = config::between(1, 1e6)}, mult);
    f({.name = "min_lr", .doc = "lr before each restart", .aliases = {"eta_min"}, .range = config::at_least(0)},
      min_lr);
    Warmup::fields(f);
  }
};

// Loshchilov and Hutter, SGDR (2017), equation 5; torch.optim.lr_scheduler.CosineAnnealingWarmRestarts.
const bool cosine_restarts_registered = schedulers().add<CosineRestartsOptions>(
    "cosine_restarts", "half a cosine from lr to min_lr, repeated",
    [](const CosineRestartsOptions& o, const Horizon& horizon) {
      const std::int64_t first = steps_of(o.period, horizon, "period");
      return with_warmup(o, horizon, [o, first, lr = horizon.lr](std::int64_t since, double) {
        std::int64_t period = first;
        if (o.mult == 1) since %= period;
        while (since >= period) {
          since -= period;
          period *= o.mult;
        }
        const double progress = static_cast<double>(since) / static_cast<double>(period);
        return o.min_lr + (lr - o.min_lr) * (1 + std::cos(std::numbers::pi * progress)) / 2;
      });
    },
    {{"aliases", config::Value::array({"CosineAnnealingWarmRestarts"})}});

}  // namespace
}  // namespace ddp::schedule
