#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace torch::nn {
class Module;
}

namespace ddp::config {
struct Experiment;
}

namespace ddp::model {

// The numeric settings of a model's computation, the same in training, evaluation and prediction.
struct Numerics {
  std::string precision = "fp32";  // or "bf16", "fp16": forward and loss under autocast
  bool channels_last = false;      // images and convolution weights have this memory format

  static Numerics of(const config::Experiment& experiment);
  // Returns the inputs of a batch, with images [n, channels, height, width] in the model's memory format.
  std::vector<at::Tensor> prepared(std::vector<at::Tensor> inputs) const;
};

// Converts parameters and buffers of four dimensions to the memory format channels_last, as
// module.to(memory_format=torch.channels_last) does in Python. Values and names do not change.
void to_channels_last(torch::nn::Module& module);

// Enables torch.autocast for this thread and the type of `device` during its lifetime; does nothing for "fp32". The end
// of its lifetime drops the cached casts of weights (torch/amp/autocast_mode.py). `caches`: a weight that is used again
// is not cast again. All threads share the cache, which threads that take turns must not.
class Autocast {
 public:
  Autocast(const std::string& precision, c10::Device device, bool caches = true);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  const bool on_;
  const c10::DeviceType device_;
  bool outer_ = false;
  bool outer_caches_ = true;
  at::ScalarType outer_type_ = at::kFloat;
};

// The autocast state of one thread, for other threads that compute on its behalf.
class CastsOfThread {
 public:
  // Captures the state of this thread.
  explicit CastsOfThread(c10::DeviceType device);
  // Sets the state in the calling thread.
  void set() const;

 private:
  c10::DeviceType device_;
  bool on_;
  at::ScalarType type_;
};

// Tells whether a CPU float32 tensor has no gaps in memory, in any order of dimensions.
bool is_plain(const at::Tensor& tensor);

// Tells whether no number of a tensor is NaN or infinite. On a GPU this waits for the device.
bool all_finite(const at::Tensor& numbers);
// Returns the largest absolute value of at least one number, as float64: NaN if a number is NaN, else infinite if a
// number is. Does not wait for a GPU.
at::Tensor largest_value(const at::Tensor& numbers);

}  // namespace ddp::model
