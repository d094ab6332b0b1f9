#pragma once

#include <cstdint>
#include <string>

#include "config/experiment.h"

namespace ddp::schedule {

// An experiment and the number of optimizer steps of its whole run.
struct Course {
  const config::Experiment& experiment;
  std::int64_t steps = 0;
};

// Describes the effect of a changed schedule on a run that has done `step` steps: the lr of the next step by the new
// and by the old schedule, and the last lr. Returns "" where both give the same lr, where only the optimizer's lr
// changed, or where one of them is not here (is_here).
std::string change_in_words(const Course& before, const Course& now, std::int64_t step);

}  // namespace ddp::schedule
