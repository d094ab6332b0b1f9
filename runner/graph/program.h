#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <nlohmann/json.hpp>

namespace ddp::graph {

// A model that torch.export wrote: its graph as in the archive, its weights, its inputs and outputs. Source of the
// format: torch/_export/serde/schema.py.
struct Program {
  // A tensor that the graph knows under the name `value`.
  struct Bound {
    enum class Role { parameter, buffer, constant };
    std::string value = {};
    std::string name = {};  // in Python: "layers.0.weight"
    Role role = Role::parameter;
    at::Tensor tensor = {};  // on the CPU; names of one tied weight share one tensor
  };

  // One dimension of an input: a fixed size, or a symbol with the range of its values.
  struct Extent {
    std::int64_t size = 0;
    std::string symbol = {};  // empty: fixed size
    std::int64_t least = 0;
    std::int64_t most = INT64_MAX;
  };

  struct Input {
    std::string value = {};
    std::string name = {};  // of forward's argument; empty if the archive lacks it
    c10::ScalarType type = c10::ScalarType::Float;
    std::vector<Extent> sizes = {};
  };

  std::string file = {};
  nlohmann::json graph = {};  // of the schema's type Graph
  std::vector<Bound> bound = {};
  std::vector<Input> inputs = {};
  std::string output = {};    // the value that the loss takes
  bool gives_number = false;  // that value has no dimensions
  std::size_t outputs = 1;    // tensors that forward returns
};

// Reads an archive without executing any of it. Throws ddp::Error (usage) if the archive is damaged, if weights are
// pickled, if the model takes an argument that is not a tensor, or if its output is neither a tensor, nor a list of
// tensors (the first one is used), nor a dict with "logits".
Program read_program(const std::filesystem::path& file);

}  // namespace ddp::graph
