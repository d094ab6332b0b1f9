#include "schedule/scheduler.h"

#include <algorithm>
#include <vector>

namespace ddp::schedule {

SchedulerRegistry& schedulers() {
  static SchedulerRegistry instance("scheduler");
  return instance;
}

Scheduler scheduler_of(const config::Experiment& e, std::int64_t steps) {
  const Horizon horizon{.lr = e.optimizer.options.value("lr", 0.0), .steps = steps};
  return schedulers().build(e.scheduler.name, e.scheduler.options, horizon);
}

bool is_here(const std::string& scheduler) {
  const std::vector<std::string> names = schedulers().names();
  return std::binary_search(names.begin(), names.end(), scheduler);
}

Scheduler with_warmup(const Warmup& warmup, const Horizon& horizon,
                      std::function<double(std::int64_t since, double progress)> after) {
  return [warm = warmup.warmup_steps, horizon, after](std::int64_t step) {
    if (step < warm) return horizon.lr * static_cast<double>(step + 1) / static_cast<double>(warm);
    const auto left = static_cast<double>(std::max<std::int64_t>(1, horizon.steps - warm));
    return after(step - warm, static_cast<double>(step - warm) / left);
  };
}

}  // namespace ddp::schedule
