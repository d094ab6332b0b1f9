#pragma once

#include <map>
#include <string>

#include <ATen/core/Tensor.h>

#include "graph/archive.h"

namespace ddp::graph {

// Returns the parameters, buffers and constants of an archive by their names in Python, on the CPU. Names of one tied
// weight have one tensor. Throws std::runtime_error where a tensor is pickled, does not lie within its member, or is of
// a kind that does not train.
std::map<std::string, at::Tensor> read_weights(const Archive& archive);

}  // namespace ddp::graph
