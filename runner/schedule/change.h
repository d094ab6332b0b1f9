#pragma once

#include <cstdint>
#include <string>

#include "config/experiment.h"
#include "config/length.h"

namespace ddp::schedule {

// An experiment and the length of its whole run.
struct Course {
  const config::Experiment& experiment;
  config::Length length;
};

// Describes the effect of a changed schedule on a run that has done `step` steps: the lr of the next step by the new
// and by the old schedule, and the last lr. Returns "" where both give the same lr, where only the optimizer's lr
// changed, where one of them is not here (is_here), or where one is a plateau, whose lr follows from what was measured.
std::string change_in_words(const Course& before, const Course& now, std::int64_t step);

}  // namespace ddp::schedule
