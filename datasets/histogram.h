#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "config/value.h"

namespace ddp::datasets {

// Counts numbers in kBins bins of equal width. All numbers go through widen() first, then all through add(): their
// range is that of the bins. Numbers that are not finite are counted apart.
class Histogram {
 public:
  static constexpr std::size_t kBins = 20;

  void widen(double number);
  void add(double number);

  // {"least": 0.1, "greatest": 7.9, "bins": [3, 0, …], "not_finite": 0}. Without a finite number "bins" is empty, and
  // both ends are null. Where all numbers are one there is one bin.
  config::Value to_json() const;

 private:
  double least_ = std::numeric_limits<double>::infinity();
  double greatest_ = -std::numeric_limits<double>::infinity();
  std::int64_t not_finite_ = 0;
  std::vector<std::int64_t> bins_;
};

}  // namespace ddp::datasets
