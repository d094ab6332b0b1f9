#pragma once

#include <cstdint>
#include <string>

#include "schedule/scheduler.h"

namespace ddp::schedule {

// The options of the scheduler "plateau", with the defaults of torch.optim.lr_scheduler.ReduceLROnPlateau. The lr is
// not a function of the step: train::Plateau lowers it at validations.
struct PlateauOptions : Warmup {
  std::string metric;  // name in events; empty: the metric of checkpoints
  std::string goal;    // empty: the metric's own direction, or else the goal of checkpoints
  double factor = 0.1;
  std::int64_t patience = 10;
  double threshold = 1e-4;
  std::string threshold_mode = "rel";
  std::int64_t cooldown = 0;
  double min_lr = 0;
  double eps = 1e-8;
  void fields(config::Fields& f);
};

// Tells whether the schedule of the experiment follows a metric.
bool follows_metric(const config::Experiment& experiment);

// Returns the options of an experiment whose schedule follows a metric.
PlateauOptions plateau_of(const config::Experiment& experiment);

}  // namespace ddp::schedule
