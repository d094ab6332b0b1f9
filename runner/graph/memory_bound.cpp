#include "graph/memory_bound.h"

#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>

#include "base/limits.h"

namespace ddp::graph {
namespace {

// The bytes that RLIMIT_DATA counts, as the process has them now.
rlim_t data_bytes() {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);) {
    constexpr std::string_view kName = "VmData:";
    if (line.starts_with(kName)) return static_cast<rlim_t>(std::stoull(line.substr(kName.size()))) * 1024;
  }
  return 0;
}

std::int64_t free_swap() {
  struct sysinfo info {};
  if (sysinfo(&info) != 0) return 0;
  return static_cast<std::int64_t>(info.freeswap) * static_cast<std::int64_t>(info.mem_unit);
}

}  // namespace

std::int64_t bound_memory() {
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  const std::int64_t memory = available_memory();
  const rlim_t used = data_bytes();
  rlimit limit{};
  if (memory == kNone || used == 0 || getrlimit(RLIMIT_DATA, &limit) != 0) return kNone;
  const std::int64_t left = memory + free_swap();
  limit.rlim_cur = std::min(limit.rlim_cur, used + static_cast<rlim_t>(left));
  return setrlimit(RLIMIT_DATA, &limit) == 0 ? left : kNone;
}

}  // namespace ddp::graph
