#include "model/weights.h"

#include <map>

#include <ATen/core/grad_mode.h>
#include <c10/util/StringUtil.h>
#include <torch/nn/module.h>

#include "base/error.h"

namespace ddp::model {
namespace {

constexpr const char* kOtherModel =
    "the weights are of another model: use that one (for an exported model: --set model.path=FILE), or start a new run "
    "with this one";

}  // namespace

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

void load_weights(const NamedTensors& tensors, torch::nn::Module& module, const std::string& where) {
  const at::NoGradGuard no_grad;
  std::map<std::string, at::Tensor> targets;
  for (const auto& item : module.named_parameters()) targets[item.key()] = item.value();
  for (const auto& item : module.named_buffers()) targets[item.key()] = item.value();
  for (const auto& [name, tensor] : tensors) {
    const auto target = targets.find(name);
    if (target == targets.end())
      throw training_error("has \"" + name + "\", which the model does not have", where, kOtherModel);
    if (target->second.sizes() != tensor.sizes() || target->second.scalar_type() != tensor.scalar_type()) {
      throw training_error("\"" + name + "\" is " + c10::str(tensor.scalar_type(), tensor.sizes()) + ", in the model " +
                               c10::str(target->second.scalar_type(), target->second.sizes()),
                           where, kOtherModel);
    }
    target->second.copy_(tensor);
    targets.erase(target);
  }
  if (!targets.empty())
    throw training_error("lacks \"" + targets.begin()->first + "\" of the model", where, kOtherModel);
}

}  // namespace ddp::model
