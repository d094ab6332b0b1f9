#pragma once

#include <string>
#include <vector>

namespace ddp::launch {

// A GPU as the driver tells it; its place in the list is its index, as PyTorch counts it.
struct Gpu {
  std::string name;  // "NVIDIA H100 80GB HBM3"
  std::string pci;   // "0000:65:00.0"
  std::string uuid;  // "GPU-…"
};

// The GPUs that are visible (CUDA_VISIBLE_DEVICES); none where there is no NVIDIA driver. Asked of a
// throw-away child: a process that has initialised CUDA can no longer fork ranks that use it.
std::vector<Gpu> visible_gpus();

}  // namespace ddp::launch
