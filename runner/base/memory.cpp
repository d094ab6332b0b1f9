#include "base/memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace ddp {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

// Reads a number from a file. Returns `otherwise` if the file cannot be read or contains "max".
std::int64_t number_in(const std::string& file, std::int64_t otherwise) {
  std::ifstream in(file);
  std::int64_t number = 0;
  return in >> number ? number : otherwise;
}

std::int64_t of_machine() {
  std::ifstream in("/proc/meminfo");
  std::string name;
  std::int64_t kib = 0;
  for (std::string unit; in >> name >> kib && std::getline(in, unit);) {
    if (name == "MemAvailable:") return kib * 1024;
  }
  return kNoLimit;
}

// Returns the memory that the control groups at and above `folder` leave. A group's limit includes all groups below it.
std::int64_t of_groups(const std::string& root, std::string path, const char* limit, const char* usage) {
  std::int64_t left = kNoLimit;
  for (;;) {
    const std::string folder = root + path + "/";
    const std::int64_t most = number_in(folder + limit, kNoLimit);
    if (most < kNoLimit) left = std::min(left, std::max<std::int64_t>(0, most - number_in(folder + usage, 0)));
    if (path.empty()) return left;
    path.erase(path.rfind('/'));
  }
}

// Lines such as "0::/user.slice" (version 2) and "4:memory:/docker/12" (version 1).
std::int64_t of_control_group() {
  std::ifstream in("/proc/self/cgroup");
  std::int64_t left = kNoLimit;
  for (std::string line; std::getline(in, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    std::string path = line.substr(second + 1);
    if (path == "/") path.clear();
    if (controllers == ",,") {
      left = std::min(left, of_groups("/sys/fs/cgroup", path, "memory.max", "memory.current"));
    } else if (controllers.find(",memory,") != std::string::npos) {
      left = std::min(left, of_groups("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes", "memory.usage_in_bytes"));
    }
  }
  return left;
}

}  // namespace

std::int64_t available_memory() { return std::min(of_machine(), of_control_group()); }

}  // namespace ddp
