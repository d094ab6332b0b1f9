#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <nlohmann/json.hpp>

#include "model/batch_sizes.h"

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
  std::string output = {};  // the value that the loss takes
};

// Reads an archive without executing any of it. Throws ddp::Error (usage) if the archive is damaged, if weights are
// pickled, if the model takes an argument that is not a tensor, or if its output is neither a tensor, nor a list of
// tensors (the first one is used), nor a dict with "logits".
Program read_program(const std::filesystem::path& file);

// Checks the inputs of a batch against the shapes of the export.
class ShapeCheck {
 public:
  explicit ShapeCheck(const Program& program) : inputs_(program.inputs), file_(program.file) {}

  // The size of a batch is the first extent of each input.
  model::BatchSizes batch_sizes() const;

  // Throws ddp::Error (usage) if the inputs do not fit.
  void require(const std::vector<at::Tensor>& given);

 private:
  bool fits(const Program::Input& input, const at::Tensor& given);
  bool fits_extent(const Program::Extent& extent, std::int64_t size);

  const std::vector<Program::Input> inputs_;
  const std::string file_;
  std::vector<std::pair<const std::string*, std::int64_t>> symbols_;  // values in the current batch
};

}  // namespace ddp::graph
