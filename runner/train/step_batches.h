#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "data/batches.h"
#include "dist/collectives.h"
#include "train/loss/loss.h"

namespace ddp::train {

// The micro-batches of an optimizer step on one rank, and their losses. If the loss divides by the total weight of the
// targets, all micro-batches of the step are loaded before the first forward, because each gradient needs the total of
// all micro-batches on all ranks.
class StepBatches {
 public:
  // The arguments outlive this object. `group` is null if the world size is 1.
  StepBatches(data::Batches& batches, const Loss& loss, const dist::Group& group)
      : batches_(batches), loss_(loss), group_(group) {}

  // Begins a step; `step`: number of steps done before it. Collective if the loss divides by the weight of the targets.
  void start(std::int64_t step, std::int64_t micro_batches);
  // Returns the next micro-batch of the step.
  datasets::Batch next();
  // Returns the loss of a micro-batch, scaled so that the gradients of the step's micro-batches add up. The value is
  // the mean over the batch divided by the number of micro-batches; or the sum over the targets, times the world size,
  // divided by the weight of all targets of the step. Ranks average their gradients.
  at::Tensor loss(const at::Tensor& output, const datasets::Batch& batch);
  // Returns the summed losses of this rank's micro-batches. Called once a step, because reading a loss waits for the
  // device.
  LossSum read_losses();

 private:
  // Loads the step's micro-batches and sums the weights of the targets of all ranks.
  void count_targets();

  data::Batches& batches_;
  const Loss& loss_;
  const dist::Group& group_;
  std::int64_t micro_batches_ = 0;  // of the step
  std::deque<datasets::Batch> loaded_;
  double own_count_ = 0;  // weight of this rank's targets
  double all_count_ = 0;  // weight of all ranks' targets
  double ranks_ = 1;
  struct OfMicroBatch {
    at::Tensor value;  // mean or sum
    std::int64_t samples;
  };
  std::vector<OfMicroBatch> losses_;
};

}  // namespace ddp::train
