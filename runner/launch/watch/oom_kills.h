#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace ddp::launch {

// Counts the processes of this process's cgroup that the kernel killed because memory ran out.
class OomKills {
 public:
  // Reads the counter; construct it before ranks are forked.
  OomKills();

  // For a rank that SIGKILL has ended since then: describes whether the kernel killed it, with the evidence, or without
  // any.
  std::string verdict() const;

 private:
  std::filesystem::path file_;  // empty: no file counts them
  std::int64_t before_ = 0;
};

}  // namespace ddp::launch
