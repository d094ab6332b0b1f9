#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/limits.h"
#include "config/option/fields.h"
#include "launch/cluster/node_link.h"
#include "launch/plan/devices.h"

// The facts about this machine that decide whether and how fast training runs.
namespace ddp::commands {

// LibTorch, as a rank loads it.
struct LibraryFacts {
  double seconds = 0;          // that loading took
  std::string gpu_error = {};  // why libddp_nccl.so, which brings LibTorch's CUDA, cannot be loaded; "": it can
  std::int64_t nccl = 0;       // the version: 22705 is 2.27.5; 0: not loaded
  std::int64_t cuda = 0;       // the version that LibTorch needs: 13000 is 13.0; 0: not loaded

  void fields(config::Fields& f) {
    f({.name = "seconds"}, seconds);
    f({.name = "gpu_error"}, gpu_error);
    f({.name = "nccl"}, nccl);
    f({.name = "cuda"}, cuda);
  }
};

// Programs that some experiments need.
struct ProgramFacts {
  std::string compiler = {};        // of the files of `sources`: the command
  std::string compiler_error = {};  // why there is none
  bool sbatch = false;
  bool srun = false;

  void fields(config::Fields& f) {
    f({.name = "compiler"}, compiler);
    f({.name = "compiler_error"}, compiler_error);
    f({.name = "sbatch"}, sbatch);
    f({.name = "srun"}, srun);
  }
};

// The addresses of this machine's own name.
struct HostFacts {
  std::vector<std::string> addresses = {};  // none: nobody knows the name
  bool is_own = false;                      // one of them is this machine's

  void fields(config::Fields& f) {
    f({.name = "addresses"}, addresses);
    f({.name = "is_own"}, is_own);
  }
};

// The file system of the results folder, or of the nearest folder above it that exists.
struct FolderFacts {
  bool exists = false;           // the results folder itself
  std::string folder = {};       // the one that exists
  std::string type = {};         // "ext4", "nfs4"
  std::int64_t free = 0;         // bytes that this user may still write
  std::string not_written = {};  // why no file can be written there; "": one can

  void fields(config::Fields& f) {
    f({.name = "exists"}, exists);
    f({.name = "folder"}, folder);
    f({.name = "type"}, type);
    f({.name = "free"}, free);
    f({.name = "not_written"}, not_written);
  }
};

// How fast that folder takes data, to the disk itself.
struct DiskSpeed {
  double bytes_per_second = 0;  // 0: no file can be written there
  double fsync_seconds = 0;     // median of a few pages

  void fields(config::Fields& f) {
    f({.name = "bytes_per_second"}, bytes_per_second);
    f({.name = "fsync_seconds"}, fsync_seconds);
  }
};

// The answer of a throw-away child.
template <class Facts>
struct Answered {
  Facts facts = {};
  std::string error = {};   // why it gave none
  std::string remedy = {};  // what to do about that, if the error says it
  bool late = false;        // it gave none within kMachinePatience
};

// Some of the calls hang if a server or a driver does.
inline constexpr double kMachinePatience = 2;  // seconds

struct Machine {
  std::string build = {}, kernel = {}, glibc = {}, cpu = {}, cpu_capability = {};
  Answered<LibraryFacts> library = {};
  Answered<ProgramFacts> programs = {};
  Cores cores = {};
  int usable_cores = 1;
  int threads = 1;  // of a rank alone
  double load = 0;  // average number of processes of the machine that wanted a core in the last minute
  Memory memory = {};
  std::optional<std::int64_t> shm_free = {};  // bytes of /dev/shm, if there is one
  std::int64_t files = 0;                     // RLIMIT_NOFILE
  std::int64_t user_tasks = 0;                // RLIMIT_NPROC
  Tasks tasks = {};
  Answered<launch::DriverFacts> gpus = {};
  std::string gpu_driver = {};                     // its version
  std::vector<launch::Interface> interfaces = {};  // the first one is taken if no other node gives the route
  std::string gloo_names = {}, nccl_names = {};    // GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME
  std::string host = {};
  Answered<HostFacts> host_name = {};
  std::string slurm_job = {}, slurm_nodes = {};  // the job's id and its number of nodes
  std::string results = {};
  Answered<FolderFacts> folder = {};
  Answered<DiskSpeed> disk = {};
};

// Measures in at most about kMachinePatience. Writes some MB into the results folder, into a file without a name.
Machine measure_machine(const std::string& results);

}  // namespace ddp::commands
