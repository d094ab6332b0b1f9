#include "launch/watch/oom_kills.h"

#include <fstream>
#include <sstream>

namespace ddp::launch {
namespace fs = std::filesystem;
namespace {

const fs::path kCgroups = "/sys/fs/cgroup";

// The line "oom_kill 3" of cgroup v2's memory.events, or v1's memory.oom_control.
std::optional<std::int64_t> oom_kills(const fs::path& file) {
  std::ifstream in(file);
  std::string name;
  std::int64_t count = 0;
  while (in >> name >> count) {
    if (name == "oom_kill") return count;
  }
  return {};
}

// The counter's file for this process. In a container the cgroup may be mounted as if it were the root.
fs::path counting_file() {
  std::ifstream in("/proc/self/cgroup");
  // "4:memory:/job/7" of v1, "0::/job/7" of v2.
  for (std::string line; std::getline(in, line);) {
    std::istringstream parts(line);
    std::string number;
    std::string controllers;
    std::string path;
    std::getline(parts, number, ':');
    std::getline(parts, controllers, ':');
    std::getline(parts, path);
    const bool v2 = number == "0" && controllers.empty();
    if (!v2 && controllers != "memory") continue;
    const fs::path root = v2 ? kCgroups : kCgroups / "memory";
    const char* file = v2 ? "memory.events" : "memory.oom_control";
    for (const fs::path& folder : {root / fs::path(path).relative_path(), root}) {
      if (oom_kills(folder / file)) return folder / file;
    }
  }
  return {};
}

}  // namespace

OomKills::OomKills() : file_(counting_file()) {
  if (!file_.empty()) before_ = oom_kills(file_).value_or(0);
}

std::string OomKills::verdict() const {
  if (file_.empty()) return "; by the kernel's OOM killer? (no cgroup counts them here)";
  const std::int64_t now = oom_kills(file_).value_or(before_);
  const std::string counter = "cgroup " + file_.filename().string() + ": oom_kill ";
  if (now == before_)
    return ", not by the kernel for lack of memory (" + counter + "is still " + std::to_string(now) +
           "): another process killed it";
  return ", by the kernel's OOM killer (" + counter + "went from " + std::to_string(before_) + " to " +
         std::to_string(now) + ")";
}

}  // namespace ddp::launch
