#pragma once

#include <cstdint>
#include <functional>
#include <limits>

#include "datasets/dataset.h"
#include "dist/parallel/distributed_model.h"
#include "train/loss/loss.h"

namespace ddp::train {

// NaN: not measured.
struct Evaluation {
  double loss = std::numeric_limits<double>::quiet_NaN();      // mean over samples
  double accuracy = std::numeric_limits<double>::quiet_NaN();  // share of right classes, where targets are classes
};

// What a model is measured on.
struct Holdout {
  const datasets::MapDataset* dataset = nullptr;
  at::Tensor samples;  // int64 [n]
  std::int64_t batch_size = 32;
  int rank = 0;
  int world_size = 1;
  c10::Device device = c10::kCPU;
};

// Measures the bare model in eval mode, after rank 0's buffers went to every rank. Rank r takes samples r,
// r + world_size, …: every sample counts exactly once, whatever divides. Draws nothing. `batch_done`
// is told of each batch. Collective; the result is the same on every rank.
Evaluation evaluate(dist::DistributedModel& model, const dist::Group& group, const Loss& loss, const Holdout& holdout,
                    const std::function<void()>& batch_done);

}  // namespace ddp::train
