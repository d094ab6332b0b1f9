#pragma once

#include <string>

#include "config/experiment.h"
#include "model/named_tensors.h"

namespace torch::nn {
class Module;
}

namespace ddp::model {

// Returns the initial weights of a module, by the names of its parameters and buffers. Takes the file's tensors after
// renaming and skipping, and the module's own tensors for the rest. Converts floating-point tensors of another dtype,
// as Python's load_state_dict() does. A tied parameter needs only one name in the file. Errors name the file `where`.
// Throws one ddp::Error (usage) that lists every missing or extra name, every different shape or dtype, and every
// pattern of `skip` that matches nothing.
NamedTensors initial_weights(const NamedTensors& file, const config::InitFrom& from, const torch::nn::Module& module,
                             const std::string& where);

}  // namespace ddp::model
