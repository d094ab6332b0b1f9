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

// The way in which a model computes, beside its weights. It holds in training, evaluation and prediction alike.
struct Numerics {
  std::string precision = "fp32";  // or "bf16", "fp16": forward and loss under torch.autocast's casts
  bool channels_last = false;      // images and the weights of convolutions lie in that memory format

  static Numerics of(const config::Experiment& experiment);
  // Returns the inputs of a batch, where images [n, channels, height, width] lie as the model wants them.
  std::vector<at::Tensor> prepared(std::vector<at::Tensor> inputs) const;
};

// Brings parameters and buffers of four dimensions into the memory format channels_last, as
// module.to(memory_format=torch.channels_last) does in Python. Their values and names stay.
void to_channels_last(torch::nn::Module& module);

// While one lives, this thread computes on the type of `device` under torch.autocast's casts; with "fp32" it changes
// nothing. The copies of weights that it made are dropped at its end (torch/amp/autocast_mode.py).
class Autocast {
 public:
  Autocast(const std::string& precision, c10::Device device);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  const bool on_;
  const c10::DeviceType device_;
  bool outer_ = false;
  at::ScalarType outer_type_ = at::kFloat;
};

// The casts of one thread, for others that compute for it.
class CastsOfThread {
 public:
  // Takes those of this thread.
  explicit CastsOfThread(c10::DeviceType device);
  // Sets them in the thread that calls it.
  void set() const;

 private:
  c10::DeviceType device_;
  bool on_;
  at::ScalarType type_;
};

}  // namespace ddp::model
