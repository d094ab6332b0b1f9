#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ATen/core/Tensor.h>

namespace ddp::train {

// Torch's default ignore_index.
constexpr std::int64_t kIgnoredByDefault = -100;

// Outputs for classes, and class indices or probabilities.
struct ByClass {
  at::Tensor output;
  at::Tensor target;
};

// Reshapes the outputs and class indices of text: [n, t, classes] with [n, t] becomes [n * t, classes] with [n * t].
// Other shapes stay the same: torch has classes in the second dimension, [n, classes, …] with [n, …].
inline ByClass by_class(const at::Tensor& output, const at::Tensor& target) {
  const bool of_text = !target.is_floating_point() && output.dim() == 3 && target.dim() == 2 &&
                       output.size(0) == target.size(0) && output.size(1) == target.size(1);
  if (!of_text) return {.output = output, .target = target};
  return {.output = output.flatten(0, 1), .target = target.flatten()};
}

// Throws ddp::Error (usage) if a class index other than `ignored` is not in [0, classes).
void check_indices(const at::Tensor& target, std::int64_t classes, std::int64_t ignored);

// Throws the error for outputs and targets whose shapes do not match. `needs`: the shapes that the loss accepts.
[[noreturn]] void refuse_shapes(const at::Tensor& output, const at::Tensor& target, const std::string& needs);

}  // namespace ddp::train
