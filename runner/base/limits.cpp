#include "base/limits.h"

#include <sched.h>
#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>

namespace ddp {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

// Reads a number from a file. Returns `otherwise` if the file cannot be read or contains "max".
std::int64_t number_in(const fs::path& file, std::int64_t otherwise) {
  std::ifstream in(file);
  std::int64_t number = 0;
  return in >> number ? number : otherwise;
}

enum class Version { one, two };

// Calls `look` with the folders of this process's control group for a controller, and of all groups above it: a group's
// limit includes all groups below it. /proc/self/cgroup has lines such as "0::/user.slice" (version 2) and
// "4:memory:/docker/12" (version 1). In a container the group may be mounted as if it were the root, and folders of
// this name are missing.
void for_each_group(const fs::path& root, const std::string& controller,
                    const std::function<void(const fs::path& folder, Version version)>& look) {
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool is_two = controllers == ",,";
    if (!is_two && controllers.find("," + controller + ",") == std::string::npos) continue;
    const fs::path mount = root / "sys/fs/cgroup" / (is_two ? "" : controller);
    std::string path = line.substr(second + 1);
    for (; path.size() > 1; path.erase(path.rfind('/'))) {
      look(mount / path.substr(1), is_two ? Version::two : Version::one);
    }
    look(mount, is_two ? Version::two : Version::one);
  }
}

std::int64_t memory_of_machine(const fs::path& root, const std::string& wanted) {
  std::ifstream in(root / "proc/meminfo");
  std::string name;
  std::int64_t kib = 0;
  for (std::string unit; in >> name >> kib && std::getline(in, unit);) {
    if (name == wanted) return kib * 1024;
  }
  return kNoLimit;
}

// The CPU quota of one group in cores; infinite without one.
double quota_of(const fs::path& folder, Version version) {
  double quota = -1;
  double period = 0;
  if (version == Version::two) {
    std::ifstream(folder / "cpu.max") >> quota >> period;  // "max 100000": quota stays below 0
  } else {
    quota = static_cast<double>(number_in(folder / "cpu.cfs_quota_us", -1));
    period = static_cast<double>(number_in(folder / "cpu.cfs_period_us", 0));
  }
  return quota > 0 && period > 0 ? quota / period : std::numeric_limits<double>::infinity();
}

// torchrun gives each rank OMP_NUM_THREADS=1 if the user gives nothing, because PyTorch would start a thread for each
// core in each rank. Here ranks share the cores anyway.
bool is_of_torchrun(const std::string& threads) {
  const char* ranks = std::getenv("LOCAL_WORLD_SIZE");
  return threads == "1" && std::getenv("TORCHELASTIC_RUN_ID") != nullptr && ranks != nullptr && std::atoi(ranks) > 1;
}

}  // namespace

Cores cores(const fs::path& root) {
  cpu_set_t set;
  CPU_ZERO(&set);
  const bool known = sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0;
  Cores cores{.online = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)),
              .allowed = known ? CPU_COUNT(&set) : 1,
              .quota = std::numeric_limits<double>::infinity()};
  for_each_group(root, "cpu", [&](const fs::path& folder, Version version) {
    cores.quota = std::min(cores.quota, quota_of(folder, version));
  });
  return cores;
}

int usable_cores(const fs::path& root) {
  const Cores found = cores(root);
  return std::max(1, static_cast<int>(std::min<double>(found.allowed, std::floor(found.quota))));
}

int default_threads(int ranks) {
  const int share = std::max(1, usable_cores() / ranks);
  const char* given = std::getenv("OMP_NUM_THREADS");
  if (given == nullptr || is_of_torchrun(given)) return share;
  const int most = std::atoi(given);  // of a list, "4,2": the outermost level
  return most > 0 ? std::min(share, most) : share;
}

Memory memory(const fs::path& root) {
  Memory memory{.machine = memory_of_machine(root, "MemTotal:"),
                .group = memory_of_machine(root, "MemTotal:"),
                .available = memory_of_machine(root, "MemAvailable:")};
  for_each_group(root, "memory", [&](const fs::path& folder, Version version) {
    const bool two = version == Version::two;
    const std::int64_t most = number_in(folder / (two ? "memory.max" : "memory.limit_in_bytes"), kNoLimit);
    if (most == kNoLimit) return;
    const std::int64_t used = number_in(folder / (two ? "memory.current" : "memory.usage_in_bytes"), 0);
    memory.group = std::min(memory.group, most);
    memory.available = std::min(memory.available, std::max<std::int64_t>(0, most - used));
  });
  return memory;
}

std::int64_t available_memory(const fs::path& root) { return memory(root).available; }

std::int64_t memory_to_record(int ranks, const fs::path& root) {
  constexpr std::int64_t kLeast = std::int64_t{256} << 20;  // a control group's use counts caches of files too
  return std::max(kLeast, available_memory(root) / ranks / 4);
}

Tasks tasks(const fs::path& root) {
  Tasks tasks;
  for_each_group(root, "pids", [&](const fs::path& folder, Version) {
    const std::int64_t most = number_in(folder / "pids.max", kNoLimit);
    if (most == kNoLimit) return;
    const std::int64_t left = std::max<std::int64_t>(0, most - number_in(folder / "pids.current", 0));
    if (left < tasks.left) tasks = {.left = left, .limit = most};
  });
  return tasks;
}

std::string task_limit() {
  return "no room for another process or thread: the limit is ulimit -u, or pids.max of the control group, or there is "
         "not enough memory (ulimit -v)";
}

std::string task_limit_behind(const std::string& words) {
  return words.find("libgomp: Thread creation failed") == std::string::npos ? "" : "; " + task_limit();
}

std::string cpu_time_limit(int signal, const rusage& used) {
  rlimit limit{};
  if (getrlimit(RLIMIT_CPU, &limit) != 0 || (signal != SIGXCPU && signal != SIGKILL)) return "";
  // The soft limit sends XCPU, the hard limit KILL.
  const rlim_t most = signal == SIGXCPU ? limit.rlim_cur : limit.rlim_max;
  const double seconds = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
  // The kernel's two counts differ by some ticks.
  if (most == RLIM_INFINITY || seconds < static_cast<double>(most) - 0.1) return "";
  return "it has used the CPU time that it may: " + std::to_string(most) + " s (ulimit -t)";
}

}  // namespace ddp
