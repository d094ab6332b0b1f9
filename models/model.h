#pragma once

#include <string>
#include <vector>

#include <c10/core/Device.h>
#include <torch/nn/modules/container/any.h>

#include "config/experiment.h"
#include "config/registry.h"

// The contract of a model. A model is one file in this folder: a torch::nn::Module with `at::Tensor
// forward(at::Tensor)`, a struct of its options, and a call of registry().add. No other file changes. A model that
// derives from torch::nn::Cloneable and builds its parts in reset() can also be trained with parallel =
// "data_parallel". Construct submodules one statement at a time and in Python's order: each draws its initial weights
// from the global generator, and C++ does not define the order in which a call's arguments are evaluated. The trait
// "inputs" says which samples the model takes, for errors of others: "rows" of numbers, "images" or "tokens". The trait
// {"same_calls", true} promises that forward calls the same operators, with the same numbers, for each batch of the same
// shapes: steps of other models are not replayed (train/replay), since they may act by the number of their calls.
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

// Tells whether a model has the trait "same_calls", and its layers and activation too, where the experiment names them.
bool makes_same_calls(const config::Component& model);

}  // namespace ddp::models
