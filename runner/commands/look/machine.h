#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/limits.h"
#include "config/option/fields.h"
#include "launch/plan/devices.h"

// The facts about this machine that decide whether training starts.
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

// The answer of a throw-away child.
template <class Facts>
struct Answered {
  Facts facts = {};
  std::string error = {};   // why it gave none
  std::string remedy = {};  // what to do about that, if the error says it
  bool late = false;        // it gave none within kMachinePatience
};

// Some of the calls hang if a file system or a driver does.
inline constexpr double kMachinePatience = 2;  // seconds

struct Machine {
  std::string build = {}, kernel = {}, glibc = {}, cpu = {}, cpu_capability = {};
  Answered<LibraryFacts> library = {};
  ProgramFacts programs = {};
  Cores cores = {};
  int usable_cores = 1;
  int threads = 1;  // of a rank alone
  Memory memory = {};
  std::optional<std::int64_t> shm_free = {};  // bytes of /dev/shm, if there is one
  std::int64_t files = 0;                     // RLIMIT_NOFILE
  std::int64_t user_tasks = 0;                // RLIMIT_NPROC
  Tasks tasks = {};
  Answered<launch::DriverFacts> gpus = {};
  std::string gpu_driver = {};                   // its version
  std::string slurm_job = {}, slurm_nodes = {};  // the job's id and its number of nodes
  std::string results = {};
  Answered<FolderFacts> folder = {};
};

// Measures in at most about kMachinePatience.
Machine measure_machine(const std::string& results);

}  // namespace ddp::commands
