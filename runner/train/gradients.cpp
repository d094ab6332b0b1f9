#include "train/gradients.h"

#include <algorithm>

namespace ddp::train {

std::vector<at::Tensor> gradients_of(const NamedTensors& parameters) {
  std::vector<at::Tensor> gradients;
  gradients.reserve(parameters.size());
  for (const auto& [name, parameter] : parameters) {
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  }
  return gradients;
}

std::vector<std::vector<at::Tensor>> by_device_and_type(const std::vector<at::Tensor>& tensors) {
  std::vector<std::vector<at::Tensor>> groups;
  for (const at::Tensor& tensor : tensors) {
    const auto same = [&](const std::vector<at::Tensor>& group) {
      return group.front().device() == tensor.device() && group.front().scalar_type() == tensor.scalar_type();
    };
    const auto group = std::find_if(groups.begin(), groups.end(), same);
    if (group == groups.end()) {
      groups.push_back({tensor});
    } else {
      group->push_back(tensor);
    }
  }
  return groups;
}

}  // namespace ddp::train
