#pragma once

#include <optional>
#include <vector>

#include "base/file_descriptor.h"
#include "launch/plan/gpus.h"

namespace ddp::sweep {

// What a trial takes of the pool: so many entries, or these GPUs.
struct Need {
  int entries = 1;
  bool gpus = false;
  std::vector<int> named = {};
};

// What it has: the indices of GPUs, with their locks, or a number of cores.
struct Share {
  std::vector<int> gpus = {};
  int cores = 0;
  std::vector<FileDescriptor> locks = {};

  std::vector<int> descriptors() const;
};

// The devices that the trials of a sweep share: this machine's GPUs, and its cores.
//
// GPUs are shared with other commands too: each is locked by a file that all of them know, named by the GPU's UUID.
// The lock is held by the trial's processes and free when the last of them is dead.
class Devices {
 public:
  // `cores`: entries for trials on CPUs.
  Devices(std::vector<launch::Gpu> gpus, int cores);

  // Nothing: not all of it is free now. A trial that needs more cores than there are takes all.
  std::optional<Share> take(const Need& need);
  void give_back(Share share);

  int cores() const { return cores_; }

 private:
  bool lock(int gpu, Share& share);

  const std::vector<launch::Gpu> gpus_;
  const int cores_;
  std::vector<bool> taken_;  // GPUs
  int free_cores_;
};

}  // namespace ddp::sweep
