#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/container/any.h>

namespace ddp::model {

// The second base class of a module that takes any number of inputs, by `at::Tensor forward(std::vector<at::Tensor>)`.
struct TakesInputs {
  virtual ~TakesInputs() = default;
};

// The second base class of a module that may train differently from what its user expects.
struct HasWarnings {
  virtual ~HasWarnings() = default;
  // Warnings for the user, before training on so many ranks; one line each.
  virtual std::vector<std::string> warnings(int ranks) const = 0;
};

// The maximum number of inputs of a module whose forward has one parameter for each input.
inline constexpr std::size_t kMostNamedInputs = 6;

// Returns the output of a model for the inputs of a batch, in their order. The module's `forward` takes one tensor for
// each input, or a vector if the module derives from TakesInputs. Throws ddp::Error (usage) if the batch has too many
// inputs, and c10::Error if `forward` has another number of parameters; a c10::IndexError names the inputs' values.
at::Tensor call(torch::nn::AnyModule& model, const std::vector<at::Tensor>& inputs);

}  // namespace ddp::model
