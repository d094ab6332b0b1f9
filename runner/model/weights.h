#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/experiment.h"
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

// Returns the initial weights of a module, by the names of its parameters and buffers. Takes the file's tensors after
// renaming and skipping, and the module's own tensors for the rest. Converts floating-point tensors of another dtype,
// as Python's load_state_dict() does. A tied parameter needs only one name in the file. Errors name the file `where`.
// Throws one ddp::Error (usage) that lists every missing or extra name, every different shape or dtype, and every
// pattern of `skip` that matches nothing.
NamedTensors initial_weights(const NamedTensors& file, const config::InitFrom& from, const torch::nn::Module& module,
                             const std::string& where);

// Tells whether a pattern matches the name of a tensor, as fnmatch(3): "*" stands for any characters including dots,
// "?" for one character, "[ab]" for one of these.
bool matches_name(const std::string& pattern, const std::string& name);

// Freezes the parameters that match a pattern, as requires_grad_(False) does in Python. For a tied parameter, a match
// of one of its names is enough. Throws ddp::Error (usage) if a pattern matches no parameter, or if no parameter is
// left to train, for whatever reason.
void freeze(torch::nn::Module& module, const std::vector<std::string>& patterns);

}  // namespace ddp::model
