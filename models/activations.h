#pragma once

#include <optional>
#include <string>
#include <vector>

#include <torch/nn/modules/container/any.h>

namespace ddp::models {

// Returns the names that `activation` options take, sorted: relu, tanh, …. A layer's registration defines its name.
std::vector<std::string> activation_names();

// Returns the layer of that name. Throws ddp::Error (usage) for an unknown name.
std::string activation_layer(const std::string& name);

// Makes the module of that name, with PyTorch's defaults. Throws ddp::Error (usage) for an unknown name.
torch::nn::AnyModule make_activation(const std::string& name);

}  // namespace ddp::models
