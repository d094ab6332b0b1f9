#pragma once

#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/container/any.h>

namespace ddp::model {

// A module derives from this beside torch::nn::Module, and has `at::Tensor forward(std::vector<at::Tensor>)`, where it
// takes any number of inputs.
struct TakesInputs {
  virtual ~TakesInputs() = default;
};

// The most inputs of a module whose forward names them one by one.
inline constexpr std::size_t kMostNamedInputs = 6;

// Returns the output of a model for the inputs of a batch, in their order. `forward` of the module takes one tensor for
// each input, or all of them where it derives from TakesInputs. Throws ddp::Error (usage) where it cannot take
// so many inputs, and c10::Error where its forward names another number of them.
at::Tensor call(torch::nn::AnyModule& model, const std::vector<at::Tensor>& inputs);

}  // namespace ddp::model
