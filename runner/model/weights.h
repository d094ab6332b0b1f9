#pragma once

#include <cstdint>
#include <string>

#include "model/named_tensors.h"

namespace torch::nn {
class Module;
}

namespace ddp::model {

// Counts the numbers in all tensors, and their bytes.
std::int64_t count_of(const NamedTensors& tensors);
std::int64_t bytes_of(const NamedTensors& tensors);

// Copies tensors into a module's parameters and buffers by name, onto the devices that those are on. `where` names the
// source in errors. Throws ddp::Error (training) where names, shapes or dtypes differ.
void load_weights(const NamedTensors& tensors, torch::nn::Module& module, const std::string& where);

}  // namespace ddp::model
