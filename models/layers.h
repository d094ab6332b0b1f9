#pragma once

#include <string>

#include <torch/expanding_array.h>
#include <torch/nn/modules/container/any.h>

#include "config/registry.h"

namespace ddp::models {

// The layers of `sequential`, with PyTorch's class names and arguments. A layer registers itself as a model does.
using LayerRegistry = config::Registry<torch::nn::AnyModule>;
LayerRegistry& layers();

using config::NoOptions;

// An option that is an integer or a list with one integer per dimension, as in PyTorch.
config::Option size_option(const std::string& name, const std::string& doc, double minimum, bool required = false);

// Reads its value. Throws ddp::Error (usage) if a list does not have one value per dimension.
template <std::size_t Dimensions>
torch::ExpandingArray<Dimensions> spread(const config::Value& value, const std::string& name) {
  if (value.is_number()) return torch::ExpandingArray<Dimensions>(value.get<std::int64_t>());
  const auto list = value.get<std::vector<std::int64_t>>();
  if (list.size() != Dimensions) {
    throw usage_error("needs an integer or a list of " + std::to_string(Dimensions), name);
  }
  return torch::ExpandingArray<Dimensions>(list);
}

}  // namespace ddp::models
