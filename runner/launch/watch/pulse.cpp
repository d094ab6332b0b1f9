#include "launch/watch/pulse.h"

#include <utility>

#include "launch/process/process_state.h"

namespace ddp::launch {
namespace {

// It is asked a few times a second.
constexpr std::chrono::seconds kAbsence{2};

}  // namespace

Pulse::Clock::duration Pulse::silence(const std::map<int, pid_t>& ranks) {
  std::int64_t signs = 0;
  for (const auto& [rank, pid] : ranks) {
    const auto& progress = page_.rank(rank);
    signs += progress.activity + progress.collectives;
    // To build a dataset may take long, and has no steps.
    if (progress.phase == record::Phase::starting) signs += state_of(pid).processor_time;
  }
  const auto now = Clock::now();
  // Who was stopped itself (^Z), most likely together with the ranks, knows nothing of that time.
  const bool absent = now - std::exchange(asked_, now) > kAbsence;
  if (signs != std::exchange(signs_, signs) || absent) last_ = now;
  return now - last_;
}

}  // namespace ddp::launch
