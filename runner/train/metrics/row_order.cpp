#include "train/metrics/row_order.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/isnan.h>

namespace ddp::train {
namespace {

// For values beyond this, exp of a float64 is close to subnormal numbers, 0 or infinity.
constexpr double kFar = 600;

// Returns the first true column of each row; each row has one.
at::Tensor first_in(const at::Tensor& rows) { return rows.to(at::kByte).argmax(1); }

}  // namespace

RowOrder most_probable(const at::Tensor& rows) {
  const at::Tensor greatest = rows.amax(1, /*keepdim=*/true);
  const at::Tensor equal = rows == greatest;
  const at::Tensor first = first_in(equal);
  const at::Tensor close = equal.logical_or(greatest - rows < kClose);
  return {.value = first, .unsure = (first_in(close) != first).logical_or(at::isnan(rows).any(1))};
}

RowOrder classes_before(const at::Tensor& rows, const at::Tensor& targets) {
  const at::Tensor column = targets.unsqueeze(1);
  const at::Tensor of_target = rows.gather(1, column);
  const at::Tensor apart = rows - of_target;
  const at::Tensor lower = at::arange(rows.size(1), targets.options()) < column;
  const at::Tensor equal = apart == 0;
  const at::Tensor before = (apart > 0).logical_or(equal.logical_and(lower));
  const at::Tensor close = equal.logical_not().logical_and(apart.abs() < kClose).logical_or(at::isnan(apart)).any(1);
  const at::Tensor lowest = rows.amax(1) - kFar;
  const at::Tensor reached = of_target.squeeze(1);
  const at::Tensor far = (reached < lowest).logical_or(reached.abs() > kFar);
  return {.value = before.sum(1), .unsure = close.logical_or(far)};
}

}  // namespace ddp::train
