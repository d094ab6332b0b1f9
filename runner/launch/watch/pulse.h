#pragma once

#include <chrono>
#include <map>

#include <sys/types.h>

#include "record/shared_progress.h"

namespace ddp::launch {

// Measures for how long ranks have shown no activity, even if no collective waits for them: a run with one rank, or a
// run whose ranks all hang elsewhere.
class Pulse {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Pulse(record::SharedProgress& shared) : shared_(shared) {}

  // Returns the time since the last activity of these ranks: a phase, a batch or a collective that began, or a piece
  // that was saved; while a rank starts, any processor time. Call it regularly.
  Clock::duration silence(const std::map<int, pid_t>& ranks);

 private:
  record::SharedProgress& shared_;
  std::int64_t signs_ = -1;
  Clock::time_point last_ = Clock::now();
  Clock::time_point asked_ = Clock::now();
};

}  // namespace ddp::launch
