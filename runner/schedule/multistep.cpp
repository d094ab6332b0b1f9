#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "schedule/scheduler.h"

namespace ddp::schedule {
namespace {

struct MultistepOptions : Warmup {
  config::Value milestones = config::Value::array();
  double gamma = 0.1;
  void fields(config::Fields& f) {
    f({.name = "milestones",
       .doc = "steps of the run after which lr changes, ascending; each may be \"10 epochs\" or \"5%\"",
       .range = config::between(1, 1e9),
       .form = config::kPartForm,
       .required = true,
       .types = {config::Type::list}},
      milestones);
    f({.name = "gamma", .doc = "factor of each change", .range = config::above(0)}, gamma);
    Warmup::fields(f);
  }
};

// Milestones count from the start of the run, including the warm-up (torch.optim.lr_scheduler.MultiStepLR).
const bool multistep_registered = schedulers().add<MultistepOptions>(
    "multistep", "lr times gamma after each of the milestones", [](const MultistepOptions& o, const Horizon& horizon) {
      std::vector<std::int64_t> milestones;
      for (const config::Value& one : o.milestones) milestones.push_back(steps_of(one, horizon, "milestones"));
      if (!std::is_sorted(milestones.begin(), milestones.end())) {
        throw usage_error("are not in ascending order", "scheduler.milestones");
      }
      const std::int64_t warm = o.steps(horizon);
      return with_warmup(o, horizon, [=, gamma = o.gamma, lr = horizon.lr](std::int64_t since, double) {
        const auto passed = std::upper_bound(milestones.begin(), milestones.end(), since + warm) - milestones.begin();
        return lr * std::pow(gamma, static_cast<double>(passed));
      });
    });

}  // namespace
}  // namespace ddp::schedule
