#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "base/error.h"
#include "config/experiment.h"
#include "datasets/batch.h"

namespace ddp::train {

// The largest numbers of a micro-batch; inf or NaN if it holds one.
struct LargestNumbers {
  double input = 0;
  double target = 0;
  std::string not_finite = {};  // describes the first tensor that holds inf or NaN; "": none does
};
LargestNumbers largest_of(const std::vector<at::Tensor>& inputs, const datasets::Batch& batch);

// Returns the error of a run that ends after a step without a finite loss. `rank`: the first rank that had none;
// `largest`: of its micro-batch.
Error loss_not_finite(const config::Experiment& experiment, std::int64_t step, int rank, const LargestNumbers& largest);

// Counts the steps of this process, and its skipped steps: they left the weights unchanged, because a loss or a
// gradient was not finite.
class SkippedSteps {
 public:
  // `not_finite`: the first rank whose loss was not finite in this step.
  void count(std::optional<int> not_finite, bool skipped);
  // Returns the warning at the end of a run that skipped most of its steps; "": most steps changed the weights.
  // `largest`: of a skipped step of this rank.
  std::string warning(const config::Experiment& experiment, int rank, const LargestNumbers& largest) const;

 private:
  std::int64_t steps_ = 0;
  std::int64_t skipped_ = 0;
  std::optional<int> lowest_;  // the lowest of these first ranks
};

}  // namespace ddp::train
