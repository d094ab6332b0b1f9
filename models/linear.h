#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>
#include <torch/nn/cloneable.h>
#include <torch/nn/pimpl.h>

namespace ddp::models {

// Python's nn.Linear: x A^T + b by at::linear. If x has more than two dimensions, torch::nn::Linear multiplies and adds
// in two steps instead, which rounds differently on GPUs (torch/nn/functional/linear.h).
class LinearImpl : public torch::nn::Cloneable<LinearImpl> {
 public:
  LinearImpl(std::int64_t in_features, std::int64_t out_features, bool with_bias = true);

  // Draws the weight [out_features, in_features] and the bias [out_features] as torch::nn::Linear does.
  void reset() override;

  // x: [..., in_features]. Returns [..., out_features].
  at::Tensor forward(const at::Tensor& x);

  at::Tensor weight;
  at::Tensor bias;  // undefined without bias

 private:
  std::int64_t in_features_;
  std::int64_t out_features_;
  bool with_bias_;
};

TORCH_MODULE(Linear);

}  // namespace ddp::models
