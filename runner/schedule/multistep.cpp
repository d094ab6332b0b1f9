#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "schedule/scheduler.h"

namespace ddp::schedule {
namespace {

struct MultistepOptions : Warmup {
  std::vector<std::int64_t> milestones;
  double gamma = 0.1;
  void fields(config::Fields& f) {
    f({.name = "milestones",
       .doc = "steps of the run after which lr changes, ascending",
       .range = config::at_least(1),
       .required = true},
      milestones);
    f({.name = "gamma", .doc = "factor of each change", .range = config::above(0)}, gamma);
    Warmup::fields(f);
  }
};

// Milestones count from the run's start, the warm-up included (torch.optim.lr_scheduler.MultiStepLR).
const bool multistep_registered = schedulers().add<MultistepOptions>(
    "multistep", "lr times gamma after each of the milestones", [](const MultistepOptions& o, const Horizon& horizon) {
      if (!std::is_sorted(o.milestones.begin(), o.milestones.end())) {
        throw usage_error("are not in ascending order", "scheduler.milestones");
      }
      return with_warmup(o, horizon, [o, lr = horizon.lr](std::int64_t since, double) {
        const std::int64_t step = since + o.warmup_steps;
        const auto passed = std::upper_bound(o.milestones.begin(), o.milestones.end(), step) - o.milestones.begin();
        return lr * std::pow(o.gamma, static_cast<double>(passed));
      });
    });

}  // namespace
}  // namespace ddp::schedule
