#include "sweep/devices.h"

#include <algorithm>

#include "launch/plan/device_lock.h"

namespace ddp::sweep {

std::vector<int> Share::descriptors() const {
  std::vector<int> all;
  for (const FileDescriptor& lock : locks) all.push_back(lock.get());
  return all;
}

Devices::Devices(std::vector<launch::Gpu> gpus, int cores)
    : gpus_(std::move(gpus)), cores_(cores), taken_(gpus_.size(), false), free_cores_(cores) {}

std::optional<Share> Devices::take(const Need& need) {
  Share share;
  if (!need.gpus) {
    share.cores = std::min(need.entries, cores_);
    if (share.cores > free_cores_) return std::nullopt;
    free_cores_ -= share.cores;
    return share;
  }
  for (const int gpu : need.named) {
    if (!lock(gpu, share)) return std::nullopt;
  }
  for (int gpu = 0; gpu < static_cast<int>(gpus_.size()) && need.named.empty(); ++gpu) {
    if (static_cast<int>(share.gpus.size()) == need.entries) break;
    lock(gpu, share);
  }
  if (need.named.empty() && static_cast<int>(share.gpus.size()) < need.entries) return std::nullopt;
  for (const int gpu : share.gpus) taken_.at(gpu) = true;
  return share;
}

bool Devices::lock(int gpu, Share& share) {
  if (taken_.at(gpu)) return false;
  FileDescriptor held = launch::lock_device(gpus_.at(gpu).uuid);
  if (!held) return false;
  share.gpus.push_back(gpu);
  share.locks.push_back(std::move(held));
  return true;
}

void Devices::give_back(Share share) {
  free_cores_ += share.cores;
  for (const int gpu : share.gpus) taken_.at(gpu) = false;
}

}  // namespace ddp::sweep
