#include "model/call.h"

#include <string>
#include <utility>

#include <torch/nn/module.h>

#include "base/error.h"

namespace ddp::model {
namespace {

template <std::size_t... Index>
at::Tensor call_with(torch::nn::AnyModule& model, const std::vector<at::Tensor>& inputs,
                     std::index_sequence<Index...>) {
  return model.forward(inputs[Index]...);
}

// Calls a forward with `Count` or more parameters, one for each input.
template <std::size_t Count>
at::Tensor call_named(torch::nn::AnyModule& model, const std::vector<at::Tensor>& inputs) {
  if (inputs.size() == Count) return call_with(model, inputs, std::make_index_sequence<Count>());
  if constexpr (Count < kMostNamedInputs) return call_named<Count + 1>(model, inputs);
  throw usage_error("the dataset gives " + std::to_string(inputs.size()) +
                        " inputs, and a model with one parameter for each takes " + std::to_string(kMostNamedInputs) +
                        " at most",
                    "model", "derive the model from TakesInputs (runner/model/call.h)");
}

}  // namespace

at::Tensor call(torch::nn::AnyModule& model, const std::vector<at::Tensor>& inputs) {
  if (dynamic_cast<const TakesInputs*>(model.ptr().get()) != nullptr) return model.forward(inputs);
  return call_named<1>(model, inputs);
}

}  // namespace ddp::model
