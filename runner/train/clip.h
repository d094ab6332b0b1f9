#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "config/experiment.h"

namespace ddp::train {

// Clips gradients in place: torch.nn.utils.clip_grad_norm_ with the 2-norm, or clip_grad_value_, bit for bit
// (torch/nn/utils/clip_grad.py).
class Clip {
 public:
  explicit Clip(const config::Clip& options) : norm_(options.norm.value_or(0)), value_(options.value.value_or(0)) {}

  bool on() const { return norm_ > 0 || value_ > 0; }
  // Returns the total norm before clipping, a 0-dimensional tensor on the gradients' device; undefined if the norm is
  // not clipped.
  at::Tensor operator()(const std::vector<at::Tensor>& gradients) const;

 private:
  const double norm_;   // 0: the norm is not clipped
  const double value_;  // 0: values are not clipped
};

// Returns the 2-norms [n] of n > 0 tensors, on the device of the first one, with the bits of torch.linalg.vector_norm.
// For float32 tensors on the CPU the cost is only the sums, without n operator calls.
at::Tensor norms_of(const std::vector<at::Tensor>& tensors);

}  // namespace ddp::train
