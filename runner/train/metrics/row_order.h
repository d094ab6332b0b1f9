#pragma once

#include <ATen/core/Tensor.h>

namespace ddp::train {

// Probabilities of outputs that are closer than this to each other may be equal.
constexpr double kClose = 1e-12;

// The order of the classes of each row of float64 [rows, columns], found with tensors on the device where the rows are.
struct RowOrder {
  at::Tensor value;  // int64 [rows]
  at::Tensor
      unsure;  // bool [rows]: only the probabilities tell, since some are so close that they may be equal, or NaN
};
// The most probable class; of equals, the lowest.
RowOrder most_probable(const at::Tensor& rows);
// How many classes come before the target: more probable, or as probable and lower. `targets`: int64 [rows].
RowOrder classes_before(const at::Tensor& rows, const at::Tensor& targets);

}  // namespace ddp::train
