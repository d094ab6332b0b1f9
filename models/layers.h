#pragma once

#include <string>

#include <torch/expanding_array.h>
#include <torch/nn/modules/container/any.h>

#include "config/registry.h"

namespace ddp::models {

// The layers that `sequential` is made of, by PyTorch's class names and with PyTorch's arguments. A layer
// registers itself as a model does.
using LayerRegistry = config::Registry<torch::nn::AnyModule>;
LayerRegistry& layers();

// Of layers that take none.
struct NoOptions {
  void fields(config::Fields&) {}
};

// Options that are an int or a list with one int a dimension, as PyTorch takes them.
config::Option size_option(const std::string& name, const std::string& doc, double minimum, bool required = false);

// Its value. Throws ddp::Error (usage) where a list has not one value a dimension.
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
