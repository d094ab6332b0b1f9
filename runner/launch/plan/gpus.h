#pragma once

#include <string>
#include <vector>

namespace ddp::launch {

// A GPU, as the driver describes it. Its place in the list is its index, as PyTorch counts.
struct Gpu {
  std::string name;  // "NVIDIA H100 80GB HBM3"
  std::string pci;   // "0000:65:00.0"
  std::string uuid;  // "GPU-…"
};

// Returns the visible GPUs (CUDA_VISIBLE_DEVICES); none without an NVIDIA driver. A throw-away child asks the driver: a
// process that has initialised CUDA can no longer fork ranks that use it.
std::vector<Gpu> visible_gpus();

}  // namespace ddp::launch
