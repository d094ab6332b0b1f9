#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace ddp::dist {

// Values that differ from the expected ones.
struct Mismatch {
  std::int64_t count = 0;
  // The first one.
  std::int64_t index = 0;
  double expected = 0;
  double got = 0;
};

// Integers that depend on rank and index, to detect a value of a wrong rank or index. They are so small that the
// element type holds each of them, and their sum over the ranks in any order, exactly.
class Pattern {
 public:
  // `terms`: the number of ranks in a sum; 1 if values are only moved.
  Pattern(at::ScalarType dtype, int terms);

  // Writes the rank's values to the tensor, which has one dimension and is on any device.
  void fill(at::Tensor tensor, int rank) const;
  // Fills the tensor with a value that no rank has.
  void spoil(at::Tensor tensor) const;

  // Compare a tensor with the values of a rank, or with the sum of all ranks' values.
  Mismatch compare(const at::Tensor& tensor, int rank) const;
  Mismatch compare_sum(const at::Tensor& tensor) const;

 private:
  // The value of each class of indices.
  using Table = std::vector<double>;
  Table values_of(int rank) const;
  Mismatch compare(const at::Tensor& tensor, const Table& table) const;

  int terms_;
  int values_;        // values are 0 to values_ - 1
  int summed_ranks_;  // in a sum, ranks from this one on have zeros
};

}  // namespace ddp::dist
