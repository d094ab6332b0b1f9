#pragma once

#include <string>

#include "config/experiment.h"
#include "model/named_tensors.h"

namespace torch::nn {
class Module;
}

namespace ddp::model {

// Returns the first weights of a module by the names of its parameters and buffers: those of a file, renamed and
// without those that are skipped, and its own for the rest. Floating-point tensors of another dtype are converted, as
// Python's load_state_dict() does. Of a tied parameter one name is enough. `where` names the file. Throws one
// ddp::Error (usage) that lists every name that is missing or left over, every shape and dtype that differs, and every
// pattern of `skip` that matches nothing.
NamedTensors initial_weights(const NamedTensors& file, const config::InitFrom& from, const torch::nn::Module& module,
                             const std::string& where);

}  // namespace ddp::model
