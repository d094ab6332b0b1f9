#pragma once

#include <string>
#include <vector>

#include <c10/core/Device.h>
#include <torch/nn/modules/container/any.h>

#include "config/registry.h"

// The contract of a model. A model is one file in this folder: a torch::nn::Module with
// `at::Tensor forward(at::Tensor)`, a struct with its options, and one call of registry().add. Nothing else
// is edited. One that is derived from torch::nn::Cloneable, and builds its parts in reset(), can be trained with
// parallel = "data_parallel" too. Construct submodules one statement at a time and in Python's order: each draws its
// initial weights from the global generator, and C++ leaves the order of a call's arguments open.
namespace ddp::models {

// The devices of the rank that the model is built for: one, or several for a model that is spread over them.
// A model never names a device itself. It is built on the CPU, with the numbers that Python draws there, and
// moved to devices.front(), unless it places its own parts: then its trait {"devices", 2} says how many devices it
// can use at most, and DDP wraps it without device ids. Others get one device.
struct Placement {
  std::vector<c10::Device> devices;
};

using Registry = config::Registry<torch::nn::AnyModule, const Placement&>;
Registry& registry();

}  // namespace ddp::models
