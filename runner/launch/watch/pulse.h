#pragma once

#include <chrono>
#include <map>

#include <sys/types.h>

#include "record/progress_page.h"

namespace ddp::launch {

// Tells for how long ranks have done nothing, also where no collective waits for them: the only rank of a run, or all
// of them stuck in something else.
class Pulse {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Pulse(record::ProgressPage& page) : page_(page) {}

  // Since when none of these ranks has shown a sign of life: a phase, a batch or a collective that it began, a piece
  // that it saved; while it starts, any use of the processor. To be asked now and then.
  Clock::duration silence(const std::map<int, pid_t>& ranks);

 private:
  record::ProgressPage& page_;
  std::int64_t signs_ = -1;
  Clock::time_point last_ = Clock::now();
  Clock::time_point asked_ = Clock::now();
};

}  // namespace ddp::launch
