#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ATen/core/Tensor.h>

namespace ddp::train {

// Outputs for classes, and class indices or probabilities.
struct ByClass {
  at::Tensor output;
  at::Tensor target;
};

// Returns outputs [n, t, classes] with class indices [n, t], which are those of texts, as [n * t, classes] with [n *
// t]. Others stay as they are: torch has classes in the second dimension, [n, classes, …] with [n, …].
inline ByClass by_class(const at::Tensor& output, const at::Tensor& target) {
  const bool of_text = !target.is_floating_point() && output.dim() == 3 && target.dim() == 2 &&
                       output.size(0) == target.size(0) && output.size(1) == target.size(1);
  if (!of_text) return {.output = output, .target = target};
  return {.output = output.flatten(0, 1), .target = target.flatten()};
}

// Throws ddp::Error (usage) where a class index is none of `classes`, unless it is `ignored`.
void check_indices(const at::Tensor& target, std::int64_t classes, std::int64_t ignored);

// The error of outputs and targets whose shapes do not fit; `needs` says what the loss takes.
[[noreturn]] void refuse_shapes(const at::Tensor& output, const at::Tensor& target, const std::string& needs);

}  // namespace ddp::train
