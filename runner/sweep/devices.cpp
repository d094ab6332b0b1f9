#include "sweep/devices.h"

#include <algorithm>

#include "launch/plan/devices.h"

namespace ddp::sweep {

std::vector<int> DeviceLease::descriptors() const {
  std::vector<int> all;
  for (const FileDescriptor& lock : locks) all.push_back(lock.get());
  return all;
}

Devices::Devices(std::vector<launch::Gpu> gpus, int cores)
    : gpus_(std::move(gpus)), cores_(cores), taken_(gpus_.size(), false), free_cores_(cores) {}

std::optional<DeviceLease> Devices::take(const DeviceRequest& request) {
  DeviceLease lease;
  if (!request.gpus) {
    lease.cores = std::min(request.entries, cores_);
    if (lease.cores > free_cores_) return std::nullopt;
    free_cores_ -= lease.cores;
    return lease;
  }
  for (const int gpu : request.named) {
    if (!lock(gpu, lease)) return std::nullopt;
  }
  for (int gpu = 0; gpu < static_cast<int>(gpus_.size()) && request.named.empty(); ++gpu) {
    if (static_cast<int>(lease.gpus.size()) == request.entries) break;
    lock(gpu, lease);
  }
  if (request.named.empty() && static_cast<int>(lease.gpus.size()) < request.entries) return std::nullopt;
  for (const int gpu : lease.gpus) taken_.at(gpu) = true;
  return lease;
}

bool Devices::lock(int gpu, DeviceLease& lease) {
  if (taken_.at(gpu)) return false;
  FileDescriptor held = launch::lock_device(gpus_.at(gpu).uuid);
  if (!held) return false;
  lease.gpus.push_back(gpu);
  lease.locks.push_back(std::move(held));
  return true;
}

void Devices::give_back(DeviceLease lease) {
  free_cores_ += lease.cores;
  for (const int gpu : lease.gpus) taken_.at(gpu) = false;
}

}  // namespace ddp::sweep
