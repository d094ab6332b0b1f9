// Times one collective between ranks of this machine, for bench/allreduce.py.
//
//   bench_collectives shm|elsewhere|gloo|copy RANKS BYTES CALLS
//
// Rank 0 prints the seconds of one call: an all_reduce of that many bytes of floats. With "shm" the tensor lies in the
// shared memory of DDP's buckets, with "elsewhere" it does not. "copy" is not a collective: every rank copies that many
// bytes at the same time from one buffer to another.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <ATen/ops/zeros.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "dist/shm/arena.h"
#include "dist/watched_group.h"
#include "ranks.h"

namespace {

struct Request {
  std::string what;
  long bytes;
  int calls;
};

// Returns the median of five rounds, which all ranks begin together after one warm-up round.
double seconds_a_call(c10d::ProcessGroup& group, int calls, const std::function<void()>& call) {
  std::vector<double> rounds;
  for (int round = 0; round < 6; ++round) {
    group.barrier()->wait();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) call();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (round > 0) rounds.push_back(took.count() / calls);
  }
  std::sort(rounds.begin(), rounds.end());
  return rounds[rounds.size() / 2];
}

void measure(int rank, const Request& r, const ddp::dist::Group& group) {
  const auto arena = r.what == "shm" ? ddp::dist::arena_of(group) : nullptr;
  if (arena) arena->reserve(static_cast<std::size_t>(r.bytes));
  const at::Tensor other = at::zeros({r.bytes / 4});
  const ddp::dist::SharedArena::Use in_arena(arena);
  const at::Tensor tensor = at::zeros({r.bytes / 4});
  std::vector<at::Tensor> tensors{tensor};
  const double seconds = seconds_a_call(*group, r.calls, [&] {
    if (r.what == "copy") {
      std::memcpy(other.mutable_data_ptr(), tensor.const_data_ptr(), static_cast<std::size_t>(r.bytes));
    } else {
      group->allreduce(tensors)->wait();
    }
  });
  if (rank == 0) std::printf("%.9f\n", seconds);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const Request r{.what = argv[1], .bytes = std::atol(argv[3]), .calls = std::atoi(argv[4])};
  return run_ranks(std::atoi(argv[2]), r.what == "gloo" ? "gloo" : "shm",
                   [&](int rank, const ddp::dist::Group& group) { measure(rank, r, group); });
}
