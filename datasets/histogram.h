#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/option/value.h"

namespace ddp::datasets {

// Counts numbers in kBins bins of equal width. All numbers pass through widen() first, which finds the range of the
// bins, and then through add(). Numbers that are not finite are counted separately.
class Histogram {
 public:
  static constexpr std::size_t kBins = 20;

  void widen(double number);
  void add(double number);

  // {"least": 0.1, "greatest": 7.9, "bins": [3, 0, …], "not_finite": 0}. Without finite numbers, "bins" is empty and
  // both ends are null. If all numbers are equal, "bins" has one element.
  config::Value to_json() const;

 private:
  double least_ = std::numeric_limits<double>::infinity();
  double greatest_ = -std::numeric_limits<double>::infinity();
  std::int64_t not_finite_ = 0;
  std::vector<std::int64_t> bins_;
};

// Returns the shortest text that reads as this number: a float32, or an integer.
std::string number_text(const at::Tensor& number);

}  // namespace ddp::datasets
