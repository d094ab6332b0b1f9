#include <cmath>
#include <numbers>

#include "schedule/scheduler.h"

namespace ddp::schedule {
namespace {

struct CosineOptions : Warmup {
  double min_lr = 0;
  void fields(config::Fields& f) {
    f({.name = "min_lr", .doc = "lr at the end", .range = config::at_least(0)}, min_lr);
    Warmup::fields(f);
  }
};

// Loshchilov and Hutter, SGDR (2017), equation 5, without restarts.
const bool cosine_registered = schedulers().add<CosineOptions>(
    "cosine", "half a cosine from lr to min_lr", [](const CosineOptions& o, const Horizon& horizon) {
      return with_warmup(o, horizon, [o, lr = horizon.lr](std::int64_t, double progress) {
        return o.min_lr + (lr - o.min_lr) * (1 + std::cos(std::numbers::pi * progress)) / 2;
      });
    });

}  // namespace
}  // namespace ddp::schedule
