#include "record/shared_progress.h"

#include <sys/mman.h>
#include <cerrno>
#include <limits>
#include <new>

#include "base/error.h"
#include "base/file_descriptor.h"

namespace ddp::record {

const char* to_string(Phase phase) {
  switch (phase) {
    case Phase::starting:
      return "starting";
    case Phase::loading:
      return "loading data";
    case Phase::forward:
      return "forward";
    case Phase::backward:
      return "backward (all-reduce of gradients)";
    case Phase::optimizer:
      return "optimizer step";
    case Phase::validating:
      return "validation";
    case Phase::saving:
      return "saving a checkpoint";
    case Phase::measuring:
      return "measuring";
    case Phase::finished:
      return "finished";
  }
  return "?";
}

const char* to_string(CollectiveKind collective) {
  switch (collective) {
    case CollectiveKind::none:
      return "nothing";
    case CollectiveKind::joining:
      return "joining the group";
    case CollectiveKind::all_reduce:
      return "all-reduce";
    case CollectiveKind::broadcast:
      return "broadcast";
    case CollectiveKind::all_gather:
      return "all-gather";
    case CollectiveKind::reduce:
      return "reduce";
    case CollectiveKind::gather:
      return "gather";
    case CollectiveKind::scatter:
      return "scatter";
    case CollectiveKind::barrier:
      return "barrier";
  }
  return "?";
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

SharedProgress::SharedProgress(int ranks) : ranks_(ranks), bytes_(sizeof(Header) + sizeof(RankProgress) * ranks) {
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw training_error("cannot map shared memory: " + errno_text(errno));
  header_ = new (memory) Header;
  rank_ = reinterpret_cast<RankProgress*>(static_cast<char*>(memory) + sizeof(Header));
  for (int r = 0; r < ranks; ++r) new (rank_ + r) RankProgress;
  run().best = std::numeric_limits<double>::quiet_NaN();
}

SharedProgress::~SharedProgress() { munmap(header_, bytes_); }

}  // namespace ddp::record
