#pragma once

#include <cstdint>

#include "datasets/dataset.h"
#include "dist/distributed_model.h"
#include "train/loss.h"

namespace ddp::train {

struct Evaluation {
  double loss = 0;      // mean over samples
  double accuracy = 0;  // share of samples whose class is right; NaN where targets are no class indices
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
// r + world_size, …: every sample counts exactly once, whatever divides. Draws nothing. Collective; the
// result is the same on every rank.
Evaluation evaluate(dist::DistributedModel& model, const dist::Group& group, const Loss& loss, const Holdout& holdout);

}  // namespace ddp::train
