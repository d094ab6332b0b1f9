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

// "Float[3, 4]"
std::string type_and_shape(const at::Tensor& tensor);

// Returns the first tensor that a model with these tensors lacks, has in another shape or type, or has besides, in
// words about the given ones: `"fc.bias" is Float[3], in the model Float[4]`. "": all fit.
std::string misfit(const NamedTensors& tensors, const NamedTensors& of_model);

// Returns a module's parameters and buffers.
NamedTensors weights_of(const torch::nn::Module& module);

// Copies tensors into a module's parameters and buffers by name, on the module's devices. Errors name the source
// `where`. Throws ddp::Error (training) if names, shapes or dtypes differ.
void load_weights(const NamedTensors& tensors, torch::nn::Module& module, const std::string& where);

}  // namespace ddp::model
