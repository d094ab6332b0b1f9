#pragma once

#include <optional>
#include <string>
#include <vector>

#include <torch/nn/modules/container/any.h>

namespace ddp::models {

// The names that `activation` options take, sorted: relu, tanh, … of those layers whose registration says so.
std::vector<std::string> activation_names();

// The module of that name, with PyTorch's defaults. Throws ddp::Error (usage) for another name.
torch::nn::AnyModule make_activation(const std::string& name);

}  // namespace ddp::models
