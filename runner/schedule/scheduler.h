#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "config/experiment.h"
#include "config/length.h"
#include "config/registry.h"

namespace ddp::schedule {

// The run that a scheduler is built for.
struct Horizon {
  double lr = 0;                     // base learning rate of the optimizer
  std::int64_t steps = 0;            // optimizer steps of the whole run
  std::int64_t steps_per_epoch = 0;  // 0: the dataset has no epochs

  config::Length length() const {
    return {.micro_batches_per_epoch = steps_per_epoch, .steps_per_epoch = steps_per_epoch, .steps = steps};
  }
};

// Returns the horizon of a run of this length.
Horizon horizon_of(double lr, const config::Length& run);

// Returns the learning rate of the next step, counted from 0.
using Scheduler = std::function<double(std::int64_t step)>;

using SchedulerRegistry = config::Registry<Scheduler, const Horizon&>;
SchedulerRegistry& schedulers();

// Builds the schedule of a loaded experiment over a run of this length, from the lr of its optimizer.
Scheduler scheduler_of(const config::Experiment& experiment, const config::Length& run);

// Tells whether this process has the scheduler. A scheduler of the user's `sources` exists only in ranks, because only
// ranks run the user's code.
bool is_here(const std::string& scheduler);

// Visits an option that is a part of a run, such as 100, "10 epochs" or "5%" (config/length.h). The field is null if
// the file does not have the option. `least`: the smallest number of steps.
void add_run_part(config::Fields& f, const std::string& name, const std::string& doc, config::Value& field,
                  double least = 1, bool required = false);

// Returns the steps of a scheduler option that add_run_part() visited.
std::int64_t steps_of(const config::Value& part, const Horizon& horizon, const std::string& option);

// The options of every scheduler except onecycle: a linear warm-up to lr. In a warm-up of w steps, step t has lr * (t +
// 1) / w.
struct Warmup {
  std::int64_t warmup_steps = 0;
  config::Value warmup;  // null: warmup_steps

  // Returns the steps of the warm-up; 0: no warm-up.
  std::int64_t steps(const Horizon& horizon) const;
  void fields(config::Fields& f);
};

// Returns the warm-up steps of an experiment; 0 if its scheduler has no such option.
std::int64_t warmup_steps_of(const config::Experiment& experiment, const Horizon& horizon);

// Returns the warm-up of w steps, followed by `after`, a schedule of t - w over the run's remaining steps, as
// torch.optim.lr_scheduler.SequentialLR. `since`: t - w. `progress`: the share of the remaining steps that are done.
Scheduler with_warmup(const Warmup& warmup, const Horizon& horizon,
                      std::function<double(std::int64_t since, double progress)> after);

}  // namespace ddp::schedule
