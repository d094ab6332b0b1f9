#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/experiment.h"
#include "model/named_tensors.h"

namespace ddp::train {

// Returns the defined gradients, in the order of parameters().
std::vector<at::Tensor> gradients_of(const NamedTensors& parameters);

// Looks at each gradient as backward makes it, before micro-batches and ranks add up their gradients: a number that is
// not finite stays so in every sum. On a CPU the gradient is then still in the cache. On the only rank's GPU it looks
// at all gradients together when they are complete, because two kernels for each parameter take longer than the look.
class GradientWatch {
 public:
  // Calls `found` during backward with the index of a parameter whose gradient is not finite. Only on a CPU: a GPU's
  // answer is not known until take_first() waits for it. `at_end`: looks only in take_first(), at the sums.
  GradientWatch(const NamedTensors& parameters, std::function<void(std::size_t)> found, bool at_end = false);
  ~GradientWatch();
  GradientWatch(const GradientWatch&) = delete;
  GradientWatch& operator=(const GradientWatch&) = delete;

  // Returns the index of the first parameter whose gradient was not finite, and forgets it. Waits for a GPU.
  std::optional<std::size_t> take_first();
  // Forgets what was found in a step that did not ask.
  void forget();
  // Looks at a gradient that backward did not make.
  void look(std::size_t parameter, const at::Tensor& gradient);

 private:
  void note(std::size_t parameter);
  void look_at_sums();

  const std::function<void(std::size_t)> found_;
  std::vector<std::pair<at::Tensor, unsigned>> hooks_;
  NamedTensors sums_of_;  // looked at in the end; empty: each gradient is, as it is made
  std::optional<std::size_t> first_;
  std::mutex looking_;  // guards the next one: backward has a thread for each GPU of the rank
  std::vector<std::pair<std::size_t, at::Tensor>> largest_;  // on a GPU: the largest number of each gradient
};

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
