#include "schedule/scheduler.h"

namespace ddp::schedule {
namespace {

struct LinearOptions : Warmup {
  double end_factor = 0;
  void fields(config::Fields& f) {
    f({.name = "end_factor", .doc = "lr at the end, as a share of lr", .range = config::between(0, 1)}, end_factor);
    Warmup::fields(f);
  }
};

const bool linear_registered = schedulers().add<LinearOptions>(
    "linear", "linear from lr to lr * end_factor", [](const LinearOptions& o, const Horizon& horizon) {
      return with_warmup(o, horizon, [o, lr = horizon.lr](std::int64_t, double progress) {
        return lr * (1 + (o.end_factor - 1) * progress);
      });
    });

}  // namespace
}  // namespace ddp::schedule
