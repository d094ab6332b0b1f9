#pragma once

#include <cstdint>
#include <string>

#include "schedule/scheduler.h"

namespace ddp::schedule {

// The options of the scheduler "plateau" and their defaults: torch.optim.lr_scheduler.ReduceLROnPlateau's. Its lr is no
// function of the step: train::Plateau lowers it at validations.
struct PlateauOptions : Warmup {
  std::string metric;  // its name in events; empty: the one that checkpoints are judged by
  double factor = 0.1;
  std::int64_t patience = 10;
  double threshold = 1e-4;
  std::string threshold_mode = "rel";
  std::int64_t cooldown = 0;
  double min_lr = 0;
  double eps = 1e-8;
  void fields(config::Fields& f);
};

// Does the schedule of the experiment follow a metric?
bool follows_metric(const config::Experiment& experiment);

// The options of an experiment whose schedule does.
PlateauOptions plateau_of(const config::Experiment& experiment);

}  // namespace ddp::schedule
