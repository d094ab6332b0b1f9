#pragma once

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace ddp {

// Tensors by name, in a fixed order: the inputs of a batch, a model's parameters, an optimizer's state, the contents of
// a file.
using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// Returns the tensor of this name; undefined if there is none.
inline at::Tensor tensor_named(const std::string& name, const NamedTensors& tensors) {
  for (const auto& [other, tensor] : tensors) {
    if (other == name) return tensor;
  }
  return {};
}

// Converts a torch::OrderedDict, such as the result of torch::nn::Module::named_parameters(), to a list.
template <class OrderedDict>
NamedTensors named(const OrderedDict& tensors) {
  NamedTensors list;
  list.reserve(tensors.size());
  for (const auto& item : tensors) list.emplace_back(item.key(), item.value());
  return list;
}

// Returns each tensor once, under its first name: a tied parameter has several names.
inline NamedTensors each_once(const NamedTensors& tensors) {
  NamedTensors list;
  std::unordered_set<const void*> seen;
  for (const auto& [name, tensor] : tensors) {
    if (seen.insert(tensor.unsafeGetTensorImpl()).second) list.emplace_back(name, tensor);
  }
  return list;
}

// Returns the tensors that need a gradient.
inline NamedTensors trained_of(const NamedTensors& tensors) {
  NamedTensors list;
  for (const auto& [name, tensor] : tensors) {
    if (tensor.requires_grad()) list.emplace_back(name, tensor);
  }
  return list;
}

// Returns the tensors without their names.
inline std::vector<at::Tensor> tensors_of(const NamedTensors& named) {
  std::vector<at::Tensor> list;
  list.reserve(named.size());
  for (const auto& [name, tensor] : named) list.push_back(tensor);
  return list;
}

// Copies the tensors to a device and returns them without names. Copies from page-locked memory do not wait for the
// device.
inline std::vector<at::Tensor> on_device(const NamedTensors& named, c10::Device device) {
  std::vector<at::Tensor> list;
  list.reserve(named.size());
  for (const auto& [name, tensor] : named) list.push_back(tensor.to(device, /*non_blocking=*/true));
  return list;
}

// Groups the tensors by device and dtype, in the order of the groups' first members.
inline std::vector<std::vector<at::Tensor>> by_device_and_type(const std::vector<at::Tensor>& tensors) {
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

}  // namespace ddp
