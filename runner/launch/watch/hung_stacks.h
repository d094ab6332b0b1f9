#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "launch/process/program.h"

namespace ddp::launch {

// The time that gdb has. Reading LibTorch's symbols alone takes it about 5 s.
inline constexpr std::chrono::seconds kStackPatience{30};

// The stacks of hanging ranks, from gdb, if it is installed and permitted. That takes seconds; the ranks must live that
// long.
class HungStacks {
 public:
  // Starts gdb, for the first few ranks only, since gdb takes much memory and time. `log`: the rank's, if it is a file
  // of this machine. Returns gdb, whose output is to be read as it comes; null if gdb is not asked.
  Program* ask(int rank, pid_t pid, const std::string& log);

  // Returns whether an answer is pending.
  bool waiting() const;
  // Writes each complete stack to its rank's log. Returns one summary for each rank: "rank 1 is in (…)". A rank without
  // a log has its summary also sent to `print`, because it may not be visible anywhere else.
  std::vector<std::string> keep(const std::function<void(const std::string&)>& print);
  // Waits for no more answers. A rank that gdb holds cannot be killed.
  void drop();

 private:
  struct Asked {
    Asked(int rank, pid_t pid, std::string log);

    int rank;
    std::string log;
    Program gdb;
    std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
  };
  std::deque<Asked> asked_;
};

}  // namespace ddp::launch
