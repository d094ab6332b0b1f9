#pragma once

#include <string>
#include <vector>

#include <c10/core/Device.h>
#include <torch/nn/modules/container/any.h>

#include "config/registry.h"

// The contract of a model. A model is one file in this folder: a torch::nn::Module with `at::Tensor
// forward(at::Tensor)`, a struct of its options, and a call of registry().add. No other file changes. A model that
// derives from torch::nn::Cloneable and builds its parts in reset() can also be trained with parallel =
// "data_parallel". Construct submodules one statement at a time and in Python's order: each draws its initial weights
// from the global generator, and C++ does not define the order in which a call's arguments are evaluated. The trait
// "inputs" says which samples the model takes, for errors of others: "rows" of numbers, "images" or "tokens".
namespace ddp::models {

// The devices of the model's rank: one, or several for a model that is split over devices. A model never names a device
// itself. It is built on the CPU, with the random numbers that Python draws there, and then moved to devices.front(). A
// model that places its own parts has the trait {"devices", 2}, the largest number of devices that it can use; DDP
// wraps it without device ids. Other models get one device.
struct Placement {
  std::vector<c10::Device> devices;
  bool loads_weights = false;  // a checkpoint replaces all weights: the model's files may lack them
};

using Registry = config::Registry<torch::nn::AnyModule, const Placement&>;
Registry& registry();

}  // namespace ddp::models
