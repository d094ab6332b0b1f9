#pragma once

#include <map>
#include <string>

#include <ATen/core/Tensor.h>

#include "graph/archive.h"

namespace ddp::graph {

// The tensors of an archive, on the CPU.
struct Weights {
  // Parameters, buffers and constants by their names in Python. Names of one tied weight share one tensor.
  std::map<std::string, at::Tensor> tensors = {};
  // The bytes of these tensors, by the member that they were read from.
  std::map<std::string, at::Tensor> members = {};
};

// Throws std::runtime_error if a tensor is pickled, exceeds its member, or has a type that ddp-exp does not train with.
Weights read_weights(const Archive& archive);

}  // namespace ddp::graph
