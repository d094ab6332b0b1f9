#include "model/weights.h"

#include <map>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <c10/util/StringUtil.h>
#include <torch/nn/module.h>

#include "base/error.h"
#include "config/text/source.h"

namespace ddp::model {
namespace {

constexpr const char* kOtherModel =
    "the weights are of another model: use that one (for an exported model: --set model.path=FILE), or start a new run "
    "with this one";

}  // namespace

std::string type_and_shape(const at::Tensor& tensor) { return c10::str(tensor.scalar_type(), tensor.sizes()); }

std::int64_t count_of(const NamedTensors& tensors) {
  std::int64_t numbers = 0;
  for (const auto& [name, tensor] : tensors) numbers += tensor.numel();
  return numbers;
}

std::int64_t bytes_of(const NamedTensors& tensors) {
  std::int64_t bytes = 0;
  for (const auto& [name, tensor] : tensors) bytes += static_cast<std::int64_t>(tensor.nbytes());
  return bytes;
}

std::string misfit(const NamedTensors& tensors, const NamedTensors& of_model) {
  std::map<std::string, at::Tensor> places(of_model.begin(), of_model.end());
  for (const auto& [name, tensor] : tensors) {
    const auto place = places.find(name);
    const std::string shown = config::in_quotes(name);
    if (place == places.end())
      return "has " + shown + ", " + type_and_shape(tensor) + ", which the model does not have";
    if (type_and_shape(place->second) != type_and_shape(tensor)) {
      return shown + " is " + type_and_shape(tensor) + ", in the model " + type_and_shape(place->second);
    }
    places.erase(place);
  }
  if (places.empty()) return "";
  const auto& [name, tensor] = *places.begin();
  return "lacks " + config::in_quotes(name) + ", in the model " + type_and_shape(tensor);
}

NamedTensors weights_of(const torch::nn::Module& module) {
  NamedTensors weights = named(module.named_parameters());
  for (auto& buffer : named(module.named_buffers())) weights.push_back(std::move(buffer));
  return weights;
}

void load_weights(const NamedTensors& tensors, torch::nn::Module& module, const std::string& where) {
  const at::NoGradGuard no_grad;
  const NamedTensors weights = weights_of(module);
  if (const std::string what = misfit(tensors, weights); !what.empty()) throw training_error(what, where, kOtherModel);
  std::map<std::string, at::Tensor> targets(weights.begin(), weights.end());
  for (const auto& [name, tensor] : tensors) targets.at(name).copy_(tensor);
}

}  // namespace ddp::model
