#pragma once

#include <ATen/core/Tensor.h>

namespace ddp::train {

// Two outputs closer than this may have equal probabilities.
constexpr double kClose = 1e-12;

// The order of the classes of each row of float64 [rows, columns], computed on the rows' device.
struct RowOrder {
  at::Tensor value;   // int64 [rows]
  at::Tensor unsure;  // bool [rows]: the order needs the probabilities, because outputs are close, far apart, or NaN
};
// Finds the most probable class; among equals, the lowest.
RowOrder most_probable(const at::Tensor& rows);
// Counts the classes before the target: more probable, or equally probable with a lower index. `targets`: int64 [rows].
RowOrder classes_before(const at::Tensor& rows, const at::Tensor& targets);

}  // namespace ddp::train
