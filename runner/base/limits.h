#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>

#include <sys/resource.h>

// The part of the machine that this process may use. Control groups limit containers and Slurm's jobs.
// `root`: where /proc and /sys lie, for tests.
namespace ddp {

// Returns the number of cores that this process may use at the same time, at least 1. taskset, cpusets and the CPU
// quota of its control groups limit it; of a quota of 1.5 cores one is usable.
int usable_cores(const std::filesystem::path& root = "/");

// The cores of this machine, and what keeps this process from them.
struct Cores {
  int online = 1;
  int allowed = 1;   // by its affinity: taskset and cpusets
  double quota = 0;  // the least CPU quota of its control groups, in cores; infinite without one
};
Cores cores(const std::filesystem::path& root = "/");

// Returns the number of threads of a rank, if `ranks` share this machine and nobody gives the number: their share of
// the cores, and at most OMP_NUM_THREADS.
int default_threads(int ranks);

// Bytes of memory: of the machine, of the control group with the least limit (the machine's without one), and those
// that this process can still use before one of the two runs out.
struct Memory {
  std::int64_t machine = 0;
  std::int64_t group = 0;
  std::int64_t available = 0;
};
Memory memory(const std::filesystem::path& root = "/");

std::int64_t available_memory(const std::filesystem::path& root = "/");

// Returns the bytes that one of `ranks` on this machine may take to record a step: a quarter of its share of the
// available memory, so that the recording, what its replay keeps, and the step itself fit beside each other. At least
// 256 MiB.
std::int64_t memory_to_record(int ranks, const std::filesystem::path& root = "/");

// The processes and threads that its control groups still allow this process to start, and the limit of the group that
// allows the fewest; both the greatest number without a limit.
struct Tasks {
  std::int64_t left = std::numeric_limits<std::int64_t>::max();
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();
};
Tasks tasks(const std::filesystem::path& root = "/");

// Describes the limits on processes and threads, for a fork or a thread that fails with EAGAIN. A thread whose stack
// finds no address space fails with it, too.
std::string task_limit();

// The same with "; " before it if a process ended with these words because OpenMP had no thread; else "".
std::string task_limit_behind(const std::string& words);

// Describes the limit on CPU time if it is what ended a child by this signal; "" if it is not.
std::string cpu_time_limit(int signal, const rusage& used);

}  // namespace ddp
