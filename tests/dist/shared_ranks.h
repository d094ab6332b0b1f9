#pragma once

#include <sched.h>
#include <sys/types.h>
#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "base/shared_memory.h"

namespace ddp::dist {

using RankBody = std::function<void(int rank, c10d::ProcessGroup& group)>;

// Real processes that share memory, forked by this one as a run forks its ranks. Each joins the group and runs the
// body; its answer is the exception that the body throws. With several "machines" each machine has its own shared
// memory.
class SharedRanks {
 public:
  SharedRanks(int world_size, const RankBody& body, std::chrono::milliseconds timeout = std::chrono::seconds(100),
              int machines = 1);
  ~SharedRanks();  // ends the ranks that are still alive

  pid_t process(int rank) const { return ranks_.at(rank).process; }
  // Waits for the rank's end and returns the text that its body passed to say() or threw.
  std::string answer(int rank);
  std::vector<std::string> answers();
  // Returns true if a rank that has answered exited by itself; a crashed rank answers nothing. Call it once.
  bool ended_well(int rank);

 private:
  struct Rank {
    pid_t process;
    int pipe;
  };
  std::vector<Rank> ranks_;
  std::string folder_;  // the meeting place of the machines
};

// In a rank: throws if the condition does not hold.
void require(bool holds, const std::string& what);

// A flag that one process raises and others wait for.
class Flag {
 public:
  void raise() { value() = 1; }
  bool raised() const { return value() != 0; }
  // Throws if nobody raises it in the longest time that a loaded machine may take.
  void wait() const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(100);
    while (!raised()) {
      if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("nobody has raised the flag");
      sched_yield();
    }
  }

 private:
  std::atomic<int>& value() const { return *static_cast<std::atomic<int>*>(memory_.data()); }
  SharedMapping memory_{sizeof(std::atomic<int>)};
};

// Requires that the bodies of all ranks end without an error.
bool all_well(int world_size, const RankBody& body, int machines = 1);

}  // namespace ddp::dist
