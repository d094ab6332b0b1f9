// Times training steps without anything around them; bench/step.py compares a run with them.
//
//   bench_engine RANKS STEPS
//
// Rank 0 prints steps a second: the toy model, batches of 20 drawn from randn, mean squared error, DDP over shared
// memory, fused SGD, but no metrics, checkpoints, progress, signals or supervision.

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <torch/csrc/autograd/variable.h>
#include <torch/nn/module.h>

#include "datasets/dataset.h"
#include "dist/parallel/parallel.h"
#include "models/model.h"
#include "ranks.h"
#include "train/loss/loss.h"
#include "train/optim/optimizer.h"

namespace {

constexpr int kSteady = 20;  // steps before the measurement, as many as bench/step.py leaves out

void train(int rank, int steps, const ddp::dist::Group& group) {
  using ddp::config::Value;
  const auto dataset = ddp::datasets::registry().build("random_batch", Value::object(), {});
  const auto& drawn = dynamic_cast<const ddp::datasets::DrawnDataset&>(*dataset);
  const auto model = ddp::dist::parallels().build("ddp", Value::object(),
                                                  {.module = ddp::models::registry().build("toy", Value::object(), {}),
                                                   .group = group,
                                                   .devices = {},
                                                   .options = {}});
  model->start({});
  const auto optimizer = ddp::train::optimizers().build("sgd", Value{{"lr", 1e-3}}, model->parameters());
  const auto loss = ddp::train::losses().build("mse", Value::object());
  auto start = std::chrono::steady_clock::now();
  for (int step = 1; step <= steps; ++step) {
    const ddp::datasets::Batch batch = drawn.draw(20, {});
    model->zero_grad();
    loss(model->forward(ddp::tensors_of(batch.inputs)), batch.targets).value.backward();
    optimizer->step(1e-3);
    if (step == kSteady) start = std::chrono::steady_clock::now();
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (rank == 0) std::printf("%.1f\n", (steps - kSteady) / took.count());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return run_ranks(std::atoi(argv[1]), "shm",
                   [&](int rank, const ddp::dist::Group& group) { train(rank, std::atoi(argv[2]), group); });
}
