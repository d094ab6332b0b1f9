#pragma once

#include <cstdint>
#include <string>

#include "model/named_tensors.h"

namespace torch::nn {
class Module;
}

namespace ddp::model {

// Count the elements of all tensors, and their bytes.
std::int64_t count_of(const NamedTensors& tensors);
std::int64_t bytes_of(const NamedTensors& tensors);

// Copies tensors into a module's parameters and buffers by name, on the module's devices. Errors name the source
// `where`. Throws ddp::Error (training) if names, shapes or dtypes differ.
void load_weights(const NamedTensors& tensors, torch::nn::Module& module, const std::string& where);

}  // namespace ddp::model
