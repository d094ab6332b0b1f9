// Times one collective between ranks of this machine: what bench/allreduce.py compares.
//
//   bench_collectives shm|elsewhere|gloo|copy RANKS BYTES CALLS
//
// Prints the seconds of one call, on rank 0: all_reduce of that many bytes of floats, over shared memory of a tensor
// that lies where DDP's buckets do, or "elsewhere"; "copy" is no collective but every rank copying that many bytes at
// the same time, from one buffer to another.

#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "base/shared_mapping.h"
#include "dist/process_group.h"
#include "dist/shared_arena.h"
#include "rank/task.h"

namespace {

struct Request {
  std::string what;
  int ranks;
  long bytes;
  int calls;
};

// The median of five rounds that all ranks begin together.
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

void be_rank(int rank, const Request& r, const ddp::MeetingPlace& meeting) {
  at::set_num_threads(1);
  ddp::record::ProgressPage progress(r.ranks);
  const auto groups = ddp::dist::join_process_groups({.backend = r.what == "gloo" ? "gloo" : "shm",
                                                      .rank = rank,
                                                      .world_size = r.ranks,
                                                      .device = "cpu",
                                                      .meeting = meeting,
                                                      .progress = progress.rank(rank)},
                                                     /*control=*/false);
  const auto arena = r.what == "shm" ? ddp::dist::arena_of(groups.main) : nullptr;
  if (arena) arena->reserve(static_cast<std::size_t>(r.bytes));
  const at::Tensor other = at::zeros({r.bytes / 4});
  const ddp::dist::SharedArena::Use in_arena(arena);
  const at::Tensor tensor = at::zeros({r.bytes / 4});
  std::vector<at::Tensor> tensors{tensor};
  const double seconds = seconds_a_call(*groups.main, r.calls, [&] {
    if (r.what == "copy") {
      std::memcpy(other.mutable_data_ptr(), tensor.const_data_ptr(), static_cast<std::size_t>(r.bytes));
    } else {
      groups.main->allreduce(tensors)->wait();
    }
  });
  if (rank == 0) std::printf("%.9f\n", seconds);
  std::fflush(stdout);
  groups.main->barrier()->wait();
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const Request r{
      .what = argv[1], .ranks = std::atoi(argv[2]), .bytes = std::atol(argv[3]), .calls = std::atoi(argv[4])};
  const ddp::SharedMapping memory(ddp::rank::kSharedBytesPerRank * static_cast<std::size_t>(r.ranks));
  char folder[] = "/tmp/ddp-exp-bench-XXXXXX";
  if (mkdtemp(folder) == nullptr) return 1;
  const ddp::FileDescriptor file = ddp::make_nameless_file();
  const ddp::MeetingPlace meeting{.file = std::string(folder) + "/store",
                                  .memory = memory.data(),
                                  .memory_bytes = memory.size(),
                                  .shared_file = file.get()};
  for (int rank = 0; rank < r.ranks; ++rank) {
    if (fork() == 0) be_rank(rank, r, meeting);
  }
  bool well = true;
  for (int status = 0; wait(&status) > 0;) well = well && status == 0;
  std::filesystem::remove_all(folder);
  return well ? 0 : 1;
}
