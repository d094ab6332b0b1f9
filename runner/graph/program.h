#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <nlohmann/json.hpp>

namespace ddp::graph {

// A model that torch.export wrote: its graph as the archive has it, its weights, its inputs and outputs. The format:
// torch/_export/serde/schema.py.
struct Program {
  // A tensor that the graph finds under the name `value`.
  struct Bound {
    enum class Role { parameter, buffer, constant };
    std::string value = {};
    std::string name = {};  // in Python: "layers.0.weight"
    Role role = Role::parameter;
    at::Tensor tensor = {};  // of the CPU; names of one tied weight have one tensor
  };

  // One extent of an input: a fixed size, or a symbol with the range of its values.
  struct Extent {
    std::int64_t size = 0;
    std::string symbol = {};  // empty: the size is fixed
    std::int64_t least = 0;
    std::int64_t most = INT64_MAX;
  };

  struct Input {
    std::string value = {};
    std::string name = {};  // of forward's argument; empty where the archive does not tell
    c10::ScalarType type = c10::ScalarType::Float;
    std::vector<Extent> sizes = {};
  };

  std::string file = {};
  nlohmann::json graph = {};  // of the schema's type Graph
  std::vector<Bound> bound = {};
  std::vector<Input> inputs = {};
  std::string output = {};  // the value that the loss takes
};

// Reads an archive without running anything of it. Throws ddp::Error (usage) where it is damaged, where weights are
// pickled, where the model takes something that is no tensor, and where its output is neither a tensor, a list of
// tensors, whose first is taken, nor a dict with "logits".
Program read_program(const std::filesystem::path& file);

}  // namespace ddp::graph
