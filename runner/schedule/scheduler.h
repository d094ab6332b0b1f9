#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "config/experiment.h"
#include "config/length.h"
#include "config/option/text_form.h"
#include "config/registry.h"

namespace ddp::schedule {

// What a scheduler is built for.
struct Horizon {
  double lr = 0;                     // the optimizer's
  std::int64_t steps = 0;            // optimizer steps of the whole run
  std::int64_t steps_per_epoch = 0;  // 0: the dataset has no epochs

  config::Length length() const {
    return {.micro_batches_per_epoch = steps_per_epoch, .steps_per_epoch = steps_per_epoch, .steps = steps};
  }
};

// The horizon of a run of this length.
Horizon horizon_of(double lr, const config::Length& run);

// The learning rate of the step about to be taken, counted from 0.
using Scheduler = std::function<double(std::int64_t step)>;

using SchedulerRegistry = config::Registry<Scheduler, const Horizon&>;
SchedulerRegistry& schedulers();

// The schedule of a loaded experiment over a run of this length, from the lr of its optimizer.
Scheduler scheduler_of(const config::Experiment& experiment, const config::Length& run);

// Returns whether this process has that scheduler: one of the user's own `sources` is in the ranks alone, where its
// code may run.
bool is_here(const std::string& scheduler);

// Visits an option that is a part of a run, such as 100, "10 epochs" or "5%", as config/run_part.h reads it. Its field
// is null where the file does not give it. `least`: the smallest number of steps.
void add_run_part(config::Fields& f, const std::string& name, const std::string& doc, config::Value& field,
                  double least = 1, bool required = false);

// The steps of an option of the scheduler that add_run_part() visited.
std::int64_t steps_of(const config::Value& part, const Horizon& horizon, const std::string& option);

// The options that every scheduler but onecycle has: a linear warm-up to lr. Of w steps, step t has lr * (t + 1) / w.
struct Warmup {
  std::int64_t warmup_steps = 0;
  config::Value warmup;  // null: warmup_steps

  // Returns the steps of the warm-up; 0: there is none.
  std::int64_t steps(const Horizon& horizon) const;
  void fields(config::Fields& f);
};

// Returns the steps of the warm-up that an experiment gives; 0 where its scheduler has no such option.
std::int64_t warmup_steps_of(const config::Experiment& experiment, const Horizon& horizon);

// The warm-up, then `after(steps since, share of the steps that remain after the warm-up)`: the schedule of t - w over
// the run's steps less w, as by torch.optim.lr_scheduler.SequentialLR.
Scheduler with_warmup(const Warmup& warmup, const Horizon& horizon,
                      std::function<double(std::int64_t since, double progress)> after);

}  // namespace ddp::schedule
