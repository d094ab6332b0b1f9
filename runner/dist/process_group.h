#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <c10/util/intrusive_ptr.h>

#include "base/meeting_place.h"
#include "dist/collectives.h"
#include "record/progress_page.h"

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace ddp::dist {

// A rank's place in its group, and where the group meets.
struct Membership {
  std::string backend;  // "shm", "gloo" or "nccl"
  int rank = 0;
  int world_size = 1;
  int ranks_here = 1;   // shm: of this machine; as many as on every other
  int first_rank = 0;   // shm: of this machine
  std::string device;   // the rank's first device: "cpu" or "cuda:3"
  bool spread = false;  // over more devices than that one
  MeetingPlace meeting;
  record::RankProgress& progress;  // which collectives this rank begins is noted there
  std::chrono::milliseconds timeout{600000};
  bool sums_may_wait = true;  // may a sum that was begun in backward be done when backward is through?
};

// A rank's way to the others. The store lives as long as this does.
struct Groups {
  Group main;     // for gradients, over the backend
  Group control;  // for what ranks tell each other on the CPU, over Gloo; where they are not all forked by one parent
  std::shared_ptr<c10d::Store> store;  // where they met; null where they share memory
};

// Joins; returns when all ranks are there. Throws ddp::Error (training) where they are not within the timeout, or
// where the backend cannot be had. `control`: is a control group wanted?
Groups join_process_groups(const Membership& membership, bool control);

// Ends NCCL in good order, once nothing is under way; Gloo ends with the group. A null group is a world of one rank.
void leave(const Group& group);

// Gloo over the interface that the store is reached through, for CPU and CUDA tensors.
c10::intrusive_ptr<c10d::Backend> make_gloo(const c10::intrusive_ptr<c10d::Store>& store, const Membership& membership);

class SharedArena;
// Where the tensors of a group whose ranks share memory are summed without being copied; null: it has no such place.
std::shared_ptr<SharedArena> arena_of(const Group& group);

// NCCL, from libddp_nccl.so: the only library that needs libtorch_cuda.
c10::intrusive_ptr<c10d::Backend> make_nccl(const c10::intrusive_ptr<c10d::Store>& store, const Membership& membership);

}  // namespace ddp::dist
