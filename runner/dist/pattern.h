#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace ddp::dist {

// Values that were not as expected.
struct Mismatch {
  std::int64_t count = 0;
  // The first one.
  std::int64_t index = 0;
  double expected = 0;
  double got = 0;
};

// Whole numbers, so small that the element type holds each of them, and their sum over the ranks in any order, exactly;
// each depends on its rank and its index, so that a value of another rank or place shows.
class Pattern {
 public:
  // `terms`: over how many ranks values are summed; 1 where they are only moved.
  Pattern(at::ScalarType dtype, int terms);

  // The rank's values go into the tensor, of one dimension and on any device.
  void fill(at::Tensor tensor, int rank) const;
  // A value that no rank has goes everywhere.
  void spoil(at::Tensor tensor) const;

  // Compares with the rank's values; with the sum of all ranks' values.
  Mismatch compare(const at::Tensor& tensor, int rank) const;
  Mismatch compare_sum(const at::Tensor& tensor) const;

 private:
  // What stands for each class of indices.
  using Table = std::vector<double>;
  Table values_of(int rank) const;
  Mismatch compare(const at::Tensor& tensor, const Table& table) const;

  int terms_;
  int values_;        // 0 to values_ - 1
  int summed_ranks_;  // ranks from this one on have zeros
};

}  // namespace ddp::dist
