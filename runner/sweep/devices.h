#pragma once

#include <optional>
#include <vector>

#include "base/file_descriptor.h"
#include "launch/plan/devices.h"

namespace ddp::sweep {

// The devices that a trial takes from the pool: a number of entries, or named GPUs.
struct DeviceRequest {
  int entries = 1;
  bool gpus = false;
  std::vector<int> named = {};
};

// The devices that a trial has: the indices of GPUs and their locks, or a number of cores.
struct DeviceLease {
  std::vector<int> gpus = {};
  int cores = 0;
  std::vector<FileDescriptor> locks = {};

  std::vector<int> descriptors() const;
  DeviceLease without_locks() const { return {.gpus = gpus, .cores = cores}; }
};

// The devices that the trials of a sweep share: this machine's GPUs and cores.
//
// Other commands use the GPUs, too. Each GPU is locked by a file that all commands know, named by the GPU's UUID. The
// trial's processes hold the lock; it is free when the last of them ends.
class Devices {
 public:
  // `cores`: number of entries for trials on CPUs.
  Devices(std::vector<launch::Gpu> gpus, int cores);

  // Returns nothing if not all of it is free now. A trial that needs more cores than the pool has takes all of them.
  std::optional<DeviceLease> take(const DeviceRequest& request);
  void give_back(DeviceLease lease);

 private:
  bool lock(int gpu, DeviceLease& lease);

  const std::vector<launch::Gpu> gpus_;
  const int cores_;
  std::vector<bool> taken_;  // GPUs
  int free_cores_;
};

}  // namespace ddp::sweep
