#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "base/shared_memory.h"
#include "dist/collectives.h"
#include "record/shared_progress.h"

namespace c10d {
class Store;
}

namespace ddp::dist {

// The place of a rank in its group, and the meeting place of the group.
struct Membership {
  std::string backend;
  int rank = 0;
  int world_size = 1;
  int ranks_here = 1;   // shm: ranks of this node; the same number on every node
  int first_rank = 0;   // shm: first rank of this node
  std::string device;   // the rank's first device: "cpu" or "cuda:3"
  bool spread = false;  // the rank uses more than one device
  MeetingPlace meeting;
  record::RankProgress& progress;  // receives the collectives that this rank begins
  std::chrono::milliseconds timeout{600000};
  bool sums_as_tree = false;  // all-reduces add the ranks, a power of two, as a balanced binary tree: neighbours first
  bool sums_may_wait = true;  // all-reduces started in backward may finish at its end
  // For ranks without a parent: the signal that stops the run, 0: none. Null: a parent watches this rank.
  std::atomic<int>* stop_signal = nullptr;
};

// The connections of a rank to the other ranks. The store ends last: ranks that lose this rank ask it for the reason.
struct Groups {
  std::shared_ptr<c10d::Store> store;  // the rendezvous; null if all ranks share memory
  Group main;                          // for gradients, over the backend
  Group control;                       // for CPU messages, over Gloo; null if one parent forked all ranks
};

}  // namespace ddp::dist
