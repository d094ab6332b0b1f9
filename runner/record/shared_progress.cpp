#include "record/shared_progress.h"

#include <new>

namespace ddp::record {

const char* to_string(Phase phase) {
  constexpr const char* kNames[] = {"starting",
                                    "loading data",
                                    "forward",
                                    "backward (all-reduce of gradients)",
                                    "optimizer step",
                                    "validation",
                                    "saving a checkpoint",
                                    "measuring",
                                    "finished"};
  return kNames[static_cast<std::size_t>(phase)];
}

const char* to_string(CollectiveKind collective) {
  constexpr const char* kNames[] = {"nothing", "joining the group", "all-reduce", "broadcast", "all-gather", "reduce",
                                    "gather",  "scatter",           "barrier"};
  return kNames[static_cast<std::size_t>(collective)];
}

void RankProgress::sum_begins() {
  summing_since_ = Clock::now();
  waited_before_sum_ = waited_.load(std::memory_order_relaxed);
}

void RankProgress::enter(Phase next) {
  note_activity();
  const Phase now = phase.load(std::memory_order_relaxed);
  if (now == next) return;
  const auto add = [](std::atomic<double>& to, double seconds) {
    to.store(to.load(std::memory_order_relaxed) + seconds, std::memory_order_relaxed);
  };
  const Clock::time_point time = Clock::now();
  const auto since = [time](Clock::time_point then) { return std::chrono::duration<double>(time - then).count(); };
  double waited = waited_.exchange(0, std::memory_order_relaxed);
  if (summing_since_ != Clock::time_point()) waited = waited_before_sum_ + since(summing_since_);
  summing_since_ = {};
  const bool of_step = now >= Phase::loading && now <= Phase::optimizer;
  add(seconds_in[static_cast<std::size_t>(now)], since(entered_) - (of_step ? waited : 0));
  if (of_step) add(seconds_waiting_for_ranks, waited);
  entered_ = time;
  phase.store(next, std::memory_order_relaxed);
}

std::string current_step(const RankProgress& rank) {
  const std::string what = rank.phase == Phase::measuring ? "measurement " : "step ";
  return what + std::to_string(rank.step + 1);
}

std::string standing(const RankProgress& rank) {
  if (rank.phase == Phase::measuring) return "in " + current_step(rank);
  return "after step " + std::to_string(rank.step) + ", in " + to_string(rank.phase);
}

void MetricTable::set(const std::string& name, double value) {
  const std::size_t count = count_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < count; ++i) {
    if (name == entries_[i].name) return entries_[i].value.store(value, std::memory_order_relaxed);
  }
  if (count == kMost || name.size() > kLongestName) return;
  name.copy(entries_[count].name, kLongestName);
  entries_[count].value.store(value, std::memory_order_relaxed);
  count_.store(count + 1, std::memory_order_release);
}

MetricValues MetricTable::values() const {
  MetricValues all;
  const std::size_t count = count_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back({.name = entries_[i].name, .value = entries_[i].value.load(std::memory_order_relaxed)});
  }
  return all;
}

SharedProgress::SharedProgress(int ranks)
    : ranks_(ranks),
      memory_(sizeof(Header) + sizeof(RankProgress) * static_cast<std::size_t>(ranks)),
      header_(new (memory_.data()) Header),
      rank_(reinterpret_cast<RankProgress*>(header_ + 1)) {
  for (int r = 0; r < ranks; ++r) new (rank_ + r) RankProgress;
}

}  // namespace ddp::record
