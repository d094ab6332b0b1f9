#include "launch/watch/pulse.h"

#include <utility>

#include "launch/process/process_state.h"

namespace ddp::launch {
namespace {

// silence() is called a few times a second. A longer gap means that this process itself did not run.
constexpr std::chrono::seconds kAbsence{2};

}  // namespace

Pulse::Clock::duration Pulse::silence(const std::map<int, pid_t>& ranks) {
  std::int64_t signs = 0;
  for (const auto& [rank, pid] : ranks) {
    const auto& progress = shared_.rank(rank);
    signs += progress.activity + progress.collectives;
    // Building a dataset may take long, and has no steps.
    if (progress.phase == record::Phase::starting) signs += state_of(pid).processor_time;
  }
  const auto now = Clock::now();
  // If this process was stopped (^Z), most likely together with the ranks, that time does not count.
  const bool absent = now - std::exchange(asked_, now) > kAbsence;
  if (signs != std::exchange(signs_, signs) || absent) last_ = now;
  return now - last_;
}

}  // namespace ddp::launch
