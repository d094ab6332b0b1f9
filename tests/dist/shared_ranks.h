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

#include "base/shared_mapping.h"

namespace ddp::dist {

using RankBody = std::function<void(int rank, c10d::ProcessGroup& group)>;

// Real processes that share memory, forked by this one as a run forks its ranks. Each joins the group and runs the
// body; what it throws is its answer. On several "machines" each has memory of its own.
class SharedRanks {
 public:
  SharedRanks(int world_size, const RankBody& body, std::chrono::milliseconds timeout = std::chrono::seconds(100),
              int machines = 1);
  ~SharedRanks();  // ends those that still live

  pid_t process(int rank) const { return ranks_.at(rank).process; }
  // What the rank's body said by say(), or threw, until it ended.
  std::string answer(int rank);
  std::vector<std::string> answers();
  // Has a rank that has answered come to its own end? One that crashed says nothing. To be asked once.
  bool ended_well(int rank);

 private:
  struct Rank {
    pid_t process;
    int pipe;
  };
  std::vector<Rank> ranks_;
  std::string folder_;  // where machines meet
};

// In a rank: throws where it does not hold.
void require(bool holds, const std::string& what);

// Something that one process says and others wait for.
class Flag {
 public:
  void raise() { value() = 1; }
  bool raised() const { return value() != 0; }
  // Throws where nobody raises it in all the time that a loaded machine may take.
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

// All ranks' bodies end without an error.
bool all_well(int world_size, const RankBody& body, int machines = 1);

}  // namespace ddp::dist
