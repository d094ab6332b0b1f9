#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <c10/util/intrusive_ptr.h>

#include "dist/collectives.h"

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace ddp::dist {

// A rank's place in its group, and where the group meets.
struct Membership {
  std::string backend;  // "gloo" or "nccl"
  int rank = 0;
  int world_size = 1;
  std::string device;  // the rank's first device: "cpu" or "cuda:3"
  std::string store_host = "127.0.0.1";
  std::uint16_t store_port = 0;
  int store_listener = -1;  // rank 0: a bound, listening socket, which the store takes over
  std::chrono::milliseconds timeout{600000};
};

// Joins the group; returns when all ranks are there. Throws ddp::Error (training) where they are not within
// the timeout, or where the backend cannot be had.
Group join_process_group(const Membership& membership);

// Ends NCCL in good order, once nothing is under way; Gloo ends with the group. A null group is a world of one rank.
void leave(const Group& group);

// Gloo over the interface that the store is reached through, for CPU and CUDA tensors.
c10::intrusive_ptr<c10d::Backend> make_gloo(const c10::intrusive_ptr<c10d::Store>& store, const Membership& membership);

// NCCL, from libddp_nccl.so: the only library that needs libtorch_cuda.
c10::intrusive_ptr<c10d::Backend> make_nccl(const c10::intrusive_ptr<c10d::Store>& store, const Membership& membership);

}  // namespace ddp::dist
