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
// and the old schedule, and the last lr. Returns "" if both give the same lr, if only the optimizer's lr changed, if
// one of the schedules is not in this process (is_here), or if one is a plateau, whose lr depends on measured metrics.
std::string change_in_words(const Course& before, const Course& now, std::int64_t step);

}  // namespace ddp::schedule
