#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <sys/resource.h>

// The part of the machine that this process may use. Control groups limit containers and Slurm's jobs.
// `root`: where /proc and /sys lie, for tests.
namespace ddp {

// Returns the number of cores that this process may use at the same time, at least 1. taskset, cpusets and the CPU
// quota of its control groups limit it; of a quota of 1.5 cores one is usable.
int usable_cores(const std::filesystem::path& root = "/");

// Returns the number of threads of a rank, if `ranks` share this machine and nobody gives the number: their share of
// the cores, and at most OMP_NUM_THREADS.
int default_threads(int ranks);

// Returns the bytes of memory that this process can still use before the machine or its control group runs out of
// memory.
std::int64_t available_memory(const std::filesystem::path& root = "/");

// Describes the limits on processes and threads, for a fork or a thread that fails with EAGAIN. A thread whose stack
// finds no address space fails with it, too.
std::string task_limit();

// The same with "; " before it if a process ended with these words because OpenMP had no thread; else "".
std::string task_limit_behind(const std::string& words);

// Describes the limit on CPU time if it is what ended a child by this signal; "" if it is not.
std::string cpu_time_limit(int signal, const rusage& used);

}  // namespace ddp
