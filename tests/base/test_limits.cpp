#include "base/limits.h"

#include <sched.h>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "catch.h"
#include "scratch_folder.h"
#include "words.h"

namespace ddp {
namespace fs = std::filesystem;
namespace {

// A root folder with the files of control groups.
struct Root : ScratchFolder {
  void write(const fs::path& file, const std::string& text) const { ScratchFolder::write(file, text + "\n"); }
};

}  // namespace

TEST_CASE("the CPU quota of a control group, or of a group above it, limits the cores") {
  const int cores = usable_cores("/none");
  const Root two;
  two.write("proc/self/cgroup", "0::/job/step");
  two.write("sys/fs/cgroup/job/step/cpu.max", "max 100000");
  CHECK(usable_cores(two.folder()) == cores);
  two.write("sys/fs/cgroup/job/cpu.max", "150000 100000");
  CHECK(usable_cores(two.folder()) == 1);
  CHECK(ddp::cores(two.folder()).quota == 1.5);
  two.write("sys/fs/cgroup/job/cpu.max", "20000 100000");
  CHECK(usable_cores(two.folder()) == 1);
  two.write("sys/fs/cgroup/job/cpu.max", "900000000 100000");
  CHECK(usable_cores(two.folder()) == cores);

  // In a container the group is mounted as the root.
  const Root one;
  one.write("proc/self/cgroup", "3:memory:/docker/12\n4:cpu,cpuacct:/docker/12");
  one.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "50000");
  one.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
  CHECK(usable_cores(one.folder()) == cores);
  one.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000");
  CHECK(usable_cores(one.folder()) == 1);
}

TEST_CASE("memory and processes are limited by the control group that leaves the least") {
  const Root two;
  two.write("proc/meminfo", "MemTotal:  1000 kB\nMemFree:  1 kB\nMemAvailable:  600 kB");
  two.write("proc/self/cgroup", "0::/job/step");
  CHECK(memory(two.folder()).machine == 1024000);
  CHECK(memory(two.folder()).group == 1024000);
  CHECK(memory(two.folder()).available == 614400);
  CHECK(tasks(two.folder()).limit == Tasks().limit);
  two.write("sys/fs/cgroup/job/memory.max", "500000");
  two.write("sys/fs/cgroup/job/memory.current", "100000");
  two.write("sys/fs/cgroup/job/pids.max", "100");
  two.write("sys/fs/cgroup/job/pids.current", "90");
  two.write("sys/fs/cgroup/job/step/pids.max", "50");
  two.write("sys/fs/cgroup/job/step/pids.current", "7");
  CHECK(memory(two.folder()).group == 500000);
  CHECK(memory(two.folder()).available == 400000);
  CHECK(tasks(two.folder()).limit == 100);
  CHECK(tasks(two.folder()).left == 10);

  const Root one;
  one.write("proc/meminfo", "MemTotal:  1000 kB\nMemAvailable:  600 kB");
  one.write("proc/self/cgroup", "3:memory:/docker/12\n5:pids:/docker/12");
  one.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");  // none
  one.write("sys/fs/cgroup/pids/pids.max", "64");
  CHECK(memory(one.folder()).group == 1024000);
  CHECK(tasks(one.folder()).left == 64);
}

TEST_CASE("a rank records in a quarter of its share of the free memory, and at least in 256 MiB") {
  const Root machine;
  machine.write("proc/meminfo", "MemTotal:  67108864 kB\nMemAvailable:  33554432 kB");
  CHECK(memory_to_record(1, machine.folder()) == std::int64_t{8} << 30);
  CHECK(memory_to_record(4, machine.folder()) == std::int64_t{2} << 30);
  CHECK(memory_to_record(200, machine.folder()) == std::int64_t{256} << 20);
}

TEST_CASE("OMP_NUM_THREADS limits the threads that nobody gives, but not torchrun's own value for it") {
  const int cores = usable_cores();
  const auto with = [](const char* value) {
    setenv("OMP_NUM_THREADS", value, 1);
    return default_threads(1);
  };
  CHECK(with("1") == 1);
  CHECK(with("100000") == cores);
  for (const char* no_number : {"", "all", "0", "-2"}) CHECK(with(no_number) == cores);
  setenv("TORCHELASTIC_RUN_ID", "none", 1);
  setenv("LOCAL_WORLD_SIZE", "2", 1);
  CHECK(with("1") == cores);
  for (const char* name : {"OMP_NUM_THREADS", "TORCHELASTIC_RUN_ID", "LOCAL_WORLD_SIZE"}) unsetenv(name);
  CHECK(default_threads(1) == cores);
  CHECK(default_threads(1000000) == 1);
}

TEST_CASE("only a child that has used its CPU time was ended by the limit on it") {
  rlimit before{};
  getrlimit(RLIMIT_CPU, &before);
  const rlimit soft{.rlim_cur = 100000, .rlim_max = before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_CPU, &soft) == 0);
  rusage used{};
  used.ru_utime.tv_sec = 99999;
  CHECK(cpu_time_limit(SIGXCPU, used).empty());
  used.ru_stime.tv_sec = 1;
  CHECK(contains(cpu_time_limit(SIGXCPU, used), "100000 s (ulimit -t)"));
  CHECK(cpu_time_limit(SIGTERM, used).empty());
  setrlimit(RLIMIT_CPU, &before);
}

}  // namespace ddp
