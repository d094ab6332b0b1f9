#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace ddp::train {

// A loss summed over all that counts, such as samples, or targets that are not ignored.
struct LossSum {
  double sum = 0;
  double weight = 0;         // number of samples, or weight of the targets
  std::int64_t samples = 0;  // all samples, counted or not

  // Adds a mean over `count` samples.
  void add(double mean, std::int64_t count) {
    add({mean * static_cast<double>(count), static_cast<double>(count), count});
  }
  void add(const LossSum& other) {
    sum += other.sum;
    weight += other.weight;
    samples += other.samples;
  }
  bool finite() const { return std::isfinite(sum); }
  // NaN if nothing counts.
  double mean() const { return weight > 0 ? sum / weight : std::numeric_limits<double>::quiet_NaN(); }
};

}  // namespace ddp::train
