#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "config/experiment.h"
#include "config/registry.h"

namespace ddp::schedule {

// What a scheduler is built for.
struct Horizon {
  double lr = 0;           // the optimizer's
  std::int64_t steps = 0;  // optimizer steps of the whole run
};

// The learning rate of the step about to be taken, counted from 0.
using Scheduler = std::function<double(std::int64_t step)>;

using SchedulerRegistry = config::Registry<Scheduler, const Horizon&>;
SchedulerRegistry& schedulers();

// The schedule of a loaded experiment over so many optimizer steps, from the lr of its optimizer.
Scheduler scheduler_of(const config::Experiment& experiment, std::int64_t steps);

// Returns whether this process has that scheduler: one of the user's own `sources` is in the ranks alone, where its
// code may run.
bool is_here(const std::string& scheduler);

// The options that every scheduler has: a linear warm-up from lr / warmup_steps to lr.
struct Warmup {
  std::int64_t warmup_steps = 0;
  void fields(config::Fields& f) {
    f({.name = "warmup_steps", .doc = "steps in which lr rises linearly to its value", .range = config::at_least(0)},
      warmup_steps);
  }
};

// The warm-up, then `after(steps since, share of the steps that remain after the warm-up)`.
Scheduler with_warmup(const Warmup& warmup, const Horizon& horizon,
                      std::function<double(std::int64_t since, double progress)> after);

}  // namespace ddp::schedule
