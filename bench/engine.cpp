// Times the steps that LibTorch's parts make with nobody watching: what bench/bookkeeping.py compares a run with.
//
//   bench_engine RANKS STEPS
//
// Prints steps a second of rank 0: the toy model, batches of 20 drawn from randn, mean squared error, DDP over shared
// memory, fused SGD; without metrics, checkpoints, progress, signals, supervision.

#include <sys/wait.h>
#include <unistd.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/nn/module.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "base/shared_mapping.h"
#include "datasets/dataset.h"
#include "dist/distributed_model.h"
#include "dist/process_group.h"
#include "models/model.h"
#include "rank/task.h"
#include "train/loss.h"
#include "train/optimizer.h"

namespace {

constexpr int kSteady = 20;  // as the bench of a run's steps leaves out

void be_rank(int rank, int ranks, int steps, const ddp::MeetingPlace& meeting) {
  using ddp::config::Value;
  at::set_num_threads(1);
  ddp::record::ProgressPage progress(ranks);
  const auto groups = ddp::dist::join_process_groups({.backend = "shm",
                                                      .rank = rank,
                                                      .world_size = ranks,
                                                      .device = "cpu",
                                                      .meeting = meeting,
                                                      .progress = progress.rank(rank)},
                                                     /*control=*/false);
  const auto dataset = ddp::datasets::registry().build("random_batch", Value::object());
  const auto& drawn = dynamic_cast<const ddp::datasets::DrawnDataset&>(*dataset);
  ddp::dist::DistributedModel model(ddp::models::registry().build("toy", Value::object(), {}), groups.main, {}, {});
  const auto optimizer = ddp::train::optimizers().build("sgd", Value{{"lr", 1e-3}}, model.parameters());
  const auto loss = ddp::train::losses().build("mse", Value::object());
  auto start = std::chrono::steady_clock::now();
  for (int step = 1; step <= steps; ++step) {
    const ddp::datasets::Batch batch = drawn.draw(20);
    model.zero_grad();
    loss(model.forward(batch.inputs), batch.targets).backward();
    optimizer->step(1e-3);
    if (step == kSteady) start = std::chrono::steady_clock::now();
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (rank == 0) std::printf("%.1f\n", (steps - kSteady) / took.count());
  std::fflush(stdout);
  groups.main->barrier()->wait();
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int ranks = std::atoi(argv[1]);
  const ddp::SharedMapping memory(ddp::rank::kSharedBytesPerRank * static_cast<std::size_t>(ranks));
  const ddp::FileDescriptor file = ddp::make_nameless_file();
  const ddp::MeetingPlace meeting{
      .file = {}, .memory = memory.data(), .memory_bytes = memory.size(), .shared_file = file.get()};
  for (int rank = 0; rank < ranks; ++rank) {
    if (fork() == 0) be_rank(rank, ranks, std::atoi(argv[2]), meeting);
  }
  bool well = true;
  for (int status = 0; wait(&status) > 0;) well = well && status == 0;
  return well ? 0 : 1;
}
