#include <cmath>

#include "schedule/scheduler.h"

namespace ddp::schedule {
namespace {

struct StepOptions : Warmup {
  config::Value step_size;
  double gamma = 0.1;
  void fields(config::Fields& f) {
    add_run_part(f, "step_size", "steps from one change to the next, or \"10 epochs\" or \"5%\"", step_size,
                 /*least=*/1,
                 /*required=*/true);
    f({.name = "gamma", .doc = "factor of each change", .range = config::above(0)}, gamma);
    Warmup::fields(f);
  }
};

const bool step_registered = schedulers().add<StepOptions>(
    "step", "lr times gamma after every step_size steps", [](const StepOptions& o, const Horizon& horizon) {
      const std::int64_t size = steps_of(o.step_size, horizon, "step_size");
      return with_warmup(o, horizon, [gamma = o.gamma, size, lr = horizon.lr](std::int64_t since, double) {
        return lr * std::pow(gamma, static_cast<double>(since / size));
      });
    });

}  // namespace
}  // namespace ddp::schedule
