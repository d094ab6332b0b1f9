#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <c10/util/intrusive_ptr.h>

#include "base/shared_memory.h"
#include "dist/collectives.h"
#include "dist/shares.h"
#include "record/shared_progress.h"

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace ddp::dist {

// The place of a rank in its group, and the meeting place of the group.
struct Membership {
  std::string backend;  // "shm", "gloo" or "nccl"
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

// Joins the groups; returns when all ranks have joined. Throws ddp::Error (training) on timeout, or if the backend is
// not available. `control`: make a control group.
Groups join_process_groups(const Membership& membership, bool control);

// Shuts NCCL down; no collective may be in progress. Gloo ends with the group. A null group means a world size of 1.
void leave(const Group& group);

// Makes Gloo over the network interface that reaches the store, for CPU and CUDA tensors.
c10::intrusive_ptr<c10d::Backend> make_gloo(const c10::intrusive_ptr<c10d::Store>& store, const Membership& membership);

class SharedArena;
// Returns the arena of a group whose ranks of one node share memory, in which tensors are summed without copies; null:
// no arena.
std::shared_ptr<SharedArena> arena_of(const Group& group);
// Averages parts of a tensor over the ranks of a group that has an arena for all of them
// (SharedMemory::average_shares).
void average_shares(const Group& group, const at::Tensor& tensor, const std::vector<Range>& own);

// Makes NCCL from libddp_nccl.so, the only library that needs libtorch_cuda.
c10::intrusive_ptr<c10d::Backend> make_nccl(const c10::intrusive_ptr<c10d::Store>& store, const Membership& membership);

// The only symbol of libddp_nccl.so.
inline constexpr const char* kMakeNccl = "ddp_make_nccl";
using MakeNccl = void(const c10::intrusive_ptr<c10d::Store>& store, const Membership& membership,
                      c10::intrusive_ptr<c10d::Backend>& backend);

}  // namespace ddp::dist
