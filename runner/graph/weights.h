#pragma once

#include <map>
#include <string>

#include <ATen/core/Tensor.h>

#include "graph/archive.h"

namespace ddp::graph {

// The tensors of an archive, on the CPU.
struct Weights {
  // Parameters, buffers and constants by their names in Python. Names of one tied weight have one tensor.
  std::map<std::string, at::Tensor> tensors = {};
  // The bytes in which these tensors lie, by the member that they were read from.
  std::map<std::string, at::Tensor> members = {};
};

// Throws std::runtime_error where a tensor is pickled, does not lie within its member, or is of a kind that does not
// train.
Weights read_weights(const Archive& archive);

}  // namespace ddp::graph
