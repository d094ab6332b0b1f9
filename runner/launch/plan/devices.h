#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "config/load/load.h"
#include "config/option/fields.h"

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

// Returns whether this machine has an NVIDIA driver.
bool has_nvidia_driver();

// Stands for a CUresult if libcuda.so.1 cannot be loaded.
inline constexpr int kNoDriverLibrary = -1;

// What NVIDIA's driver says of this machine.
struct DriverFacts {
  bool exists = false;
  std::int64_t error = 0;               // CUresult of its start, or kNoDriverLibrary; 0: none
  std::int64_t cuda = 0;                // the newest CUDA that it runs: 12040 is 12.4
  std::vector<std::string> gpus = {};   // "NVIDIA H100 80GB HBM3, 79.1 GiB"
  std::vector<std::string> apart = {};  // pairs that do not reach each other's memory: "0 and 1"
  bool atomics = false;                 // all pairs have atomic operations over their links, as NVLink has

  void fields(config::Fields& f) {
    f({.name = "exists"}, exists);
    f({.name = "error"}, error);
    f({.name = "cuda"}, cuda);
    f({.name = "gpus"}, gpus);
    f({.name = "apart"}, apart);
    f({.name = "atomics"}, atomics);
  }
};

// Asks the driver, which starts CUDA in this process: for a throw-away child.
DriverFacts ask_driver();

// Returns the devices of each rank of this machine, from `device_pool`, `devices_per_rank` and `parallel`. `ranks`: the
// number that the launcher starts here (--nproc-per-node); of "auto" or a count, the first `ranks` groups. Throws
// ddp::Error (usage) if this machine has too few devices, or if the pool cannot be divided.
std::vector<std::vector<std::string>> device_groups(const config::Loaded& loaded, const std::vector<Gpu>& gpus,
                                                    std::optional<int> ranks = {});

// Returns the GPUs that a machine must have for the devices of a list: its greatest index and one.
std::int64_t gpus_of_list(const config::Value& pool);

// Locks a GPU, named by its UUID, for the processes that hold the descriptor: no sweep of this machine takes it.
// Returns no descriptor if another process holds the lock.
//
// The lock is a file in a folder of /tmp that all users share; it is empty, and it stays. Throws ddp::Error (training)
// if it cannot be created.
FileDescriptor lock_device(const std::string& uuid);

struct Plan;

// Locks the GPUs of a plan for a run, so that no sweep takes them during the run. If another command holds a GPU, warns
// and uses it anyway, because the run names it.
std::vector<FileDescriptor> lock_devices(const Plan& plan);

}  // namespace ddp::launch
