#include <cmath>

#include "schedule/scheduler.h"

namespace ddp::schedule {
namespace {

struct StepOptions : Warmup {
  std::int64_t step_size = 0;
  double gamma = 0.1;
  void fields(config::Fields& f) {
    f({.name = "step_size", .doc = "steps from one change to the next", .range = config::at_least(1), .required = true},
      step_size);
    f({.name = "gamma", .doc = "factor of each change", .range = config::above(0)}, gamma);
    Warmup::fields(f);
  }
};

const bool step_registered = schedulers().add<StepOptions>(
    "step", "lr times gamma after every step_size steps", [](const StepOptions& o, const Horizon& horizon) {
      return with_warmup(o, horizon, [o, lr = horizon.lr](std::int64_t since, double) {
        return lr * std::pow(o.gamma, static_cast<double>(since / o.step_size));
      });
    });

}  // namespace
}  // namespace ddp::schedule
