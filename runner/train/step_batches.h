#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "data/batches.h"
#include "dist/collectives.h"
#include "train/loss/loss.h"

namespace ddp::train {

// The micro-batches of an optimizer step on one rank, and their losses. Where the loss divides by what targets count,
// the step's micro-batches are loaded before the first forward: gradients need the count of all of them, on all ranks.
class StepBatches {
 public:
  // All of them outlive it. `group` is null in a world of one rank.
  StepBatches(data::Batches& batches, const Loss& loss, const dist::Group& group)
      : batches_(batches), loss_(loss), group_(group) {}

  // Begins a step: `step` steps were done before it. Collective where the loss divides by what targets count.
  void start(std::int64_t step, std::int64_t micro_batches);
  // Returns the next micro-batch of the step.
  datasets::Batch next();
  // Returns the loss of a micro-batch, such that gradients of the step's micro-batches add up: the mean over the batch,
  // divided by their number; or the sum over the targets, times the number of ranks, divided by what all targets of the
  // step count. Ranks take the mean of their gradients.
  at::Tensor loss(const at::Tensor& output, const datasets::Batch& batch);
  // Returns the losses of the micro-batches of this rank. Called once a step, because reading one waits for the device.
  LossSum read_losses();

 private:
  // Loads the step's micro-batches and finds out what the targets of all ranks count.
  void count_targets();

  data::Batches& batches_;
  const Loss& loss_;
  const dist::Group& group_;
  std::int64_t micro_batches_ = 0;  // of the step
  std::deque<datasets::Batch> loaded_;
  double own_count_ = 0;  // of the targets of this rank
  double all_count_ = 0;  // of those of all ranks
  double ranks_ = 1;
  struct OfMicroBatch {
    at::Tensor value;  // mean, or sum
    std::int64_t samples;
  };
  std::vector<OfMicroBatch> losses_;
};

}  // namespace ddp::train
