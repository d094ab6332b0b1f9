#pragma once

#include <cstdint>

#include "record/progress_page.h"

namespace ddp::train {

// A loss summed over samples, and how many.
struct LossSum {
  double sum = 0;
  std::int64_t samples = 0;

  void add(double mean, std::int64_t count) {
    sum += mean * static_cast<double>(count);
    samples += count;
  }
  double mean() const { return sum / static_cast<double>(samples); }
};

// Carries each rank's loss of a step to rank 0 through the progress page, with no collective.
class LossBoard {
 public:
  LossBoard(record::ProgressPage& page, int rank) : page_(page), rank_(rank) {}

  // This rank's loss of `step`. To be called before the backward that ends the step: then every rank's loss is
  // there once rank 0's own backward, with its all-reduce, is done.
  void post(std::int64_t step, const LossSum& loss);

  // All ranks' losses of `step`, summed in rank order. Waits for those that are not there yet.
  LossSum collect(std::int64_t step);

 private:
  record::ProgressPage& page_;
  const int rank_;
};

}  // namespace ddp::train
