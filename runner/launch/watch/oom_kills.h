#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace ddp::launch {

// How many processes of this process's cgroup the kernel has killed because memory ran out.
class OomKills {
 public:
  // Looks now, before ranks are forked.
  OomKills();

  // Of a rank that SIGKILL has ended since: was it the kernel? In words, with what tells it, or that nothing does.
  std::string verdict() const;

 private:
  std::filesystem::path file_;  // empty: there is none that tells it
  std::int64_t before_ = 0;
};

}  // namespace ddp::launch
