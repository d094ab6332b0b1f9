#include "schedule/scheduler.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "config/length.h"

namespace ddp::schedule {

SchedulerRegistry& schedulers() {
  static SchedulerRegistry instance("scheduler");
  return instance;
}

Horizon horizon_of(double lr, const config::Length& run) {
  return {.lr = lr, .steps = run.steps, .steps_per_epoch = run.micro_batches_per_epoch == 0 ? 0 : run.steps_per_epoch};
}

Scheduler scheduler_of(const config::Experiment& e, const config::Length& run) {
  return schedulers().build(e.scheduler.name, e.scheduler.options,
                            horizon_of(e.optimizer.options.value("lr", 0.0), run));
}

bool is_here(const std::string& scheduler) {
  const std::vector<std::string> names = schedulers().names();
  return std::binary_search(names.begin(), names.end(), scheduler);
}

void add_run_part(config::Fields& f, const std::string& name, const std::string& doc, config::Value& field,
                  double least, bool required) {
  f({.name = name,
     .doc = doc,
     .range = config::between(least, 1e9),
     .form = config::kPartForm,
     .required = required,
     .types = config::kTypesWithForm},
    field);
}

std::int64_t steps_of(const config::Value& part, const Horizon& horizon, const std::string& option) {
  return config::steps_of(part, horizon.length(), "scheduler." + option);
}

std::int64_t Warmup::steps(const Horizon& horizon) const {
  return warmup.is_null() ? warmup_steps : steps_of(warmup, horizon, "warmup");
}

void Warmup::fields(config::Fields& f) {
  f({.name = "warmup_steps",
     .doc = "steps of a linear warm-up to lr",
     .aliases = {"num_warmup_steps", "warmup_iters", "warmup_ratio", "warmup_epochs"},
     .range = config::at_least(0)},
    warmup_steps);
  add_run_part(f, "warmup", "warm-up as a part of the run: steps, \"2 epochs\" or \"5%\"", warmup, /*least=*/0);
}

std::int64_t warmup_steps_of(const config::Experiment& e, const Horizon& horizon) {
  const config::Value& options = e.scheduler.options;
  Warmup warmup;
  warmup.warmup_steps = options.value("warmup_steps", std::int64_t{0});
  if (const auto part = options.find("warmup"); part != options.end()) warmup.warmup = *part;
  return warmup.steps(horizon);
}

Scheduler with_warmup(const Warmup& warmup, const Horizon& horizon,
                      std::function<double(std::int64_t since, double progress)> after) {
  return [warm = warmup.steps(horizon), horizon, after = std::move(after)](std::int64_t step) {
    if (step < warm) return horizon.lr * static_cast<double>(step + 1) / static_cast<double>(warm);
    const auto left = static_cast<double>(std::max<std::int64_t>(1, horizon.steps - warm));
    return after(step - warm, static_cast<double>(step - warm) / left);
  };
}

}  // namespace ddp::schedule
