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
    std::string name = {};    // of forward's argument; empty if the archive lacks it
    std::int64_t values = 0;  // integers are below it, as export_model.py was told; 0: unknown
    c10::ScalarType type = c10::ScalarType::Float;
    std::vector<Extent> sizes = {};
  };

  // A tensor that forward returns.
  struct Output {
    std::string value = {};
    std::string name = {};   // its key in a dict; "0", "1", … in a list; "output" for one tensor
    bool is_scalar = false;  // has no dimensions
  };

  std::string file = {};
  nlohmann::json graph = {};  // of the schema's type Graph
  std::vector<Bound> bound = {};
  std::vector<Input> inputs = {};
  std::vector<Output> outputs = {};
  bool answers_next = false;       // model::GivesOutputs::answers_next()
  bool compares_samples = false;   // its loss compares the samples of a batch, as far as export_model.py has seen
  bool skips_empty = false;        // CallList::skips_empty
  bool draws_weights = false;      // the file has a program for read_initialisation()
  std::string fixed_weights = {};  // why it has none, if export_model.py said so

  // The names of the outputs, and of the ones without dimensions.
  std::vector<std::string> output_names() const;
  std::vector<std::string> scalar_names() const;
  std::vector<std::string> argument_names() const;
  std::vector<std::int64_t> argument_values() const;
};

// Reads an archive without executing any of it. Throws ddp::Error (usage) if the archive is damaged, if weights are
// pickled, if the model takes an argument that is not a tensor, or if it returns no tensor. `may_lack_weights`: they
// may be missing, as in a run's copy of its graph, and are zeros then.
Program read_program(const std::filesystem::path& file, bool may_lack_weights = false);
// Reads the program that draws the weights of the archive's model from the default generator, as its class does. It
// returns them by their names.
Program read_initialisation(const std::filesystem::path& file);

// Checks the inputs of a batch against the shapes of the export.
class ShapeCheck {
 public:
  // For errors: "the model" or "the loss", and what its arguments are.
  explicit ShapeCheck(const Program& program, std::string what = "the model", std::string takes = kInputs)
      : inputs_(program.inputs), file_(program.file), what_(std::move(what)), takes_(std::move(takes)) {}

  // The size of a batch is the first extent of each input.
  model::BatchSizes batch_sizes() const;

  // Returns the inputs as the export takes them: datasets give its masks of bool as int64. Throws ddp::Error (usage) if
  // they do not fit.
  std::vector<at::Tensor> fitted(std::vector<at::Tensor> given);
  // Returns the inputs, followed by zeros for each further input of the export, on the device of the first input.
  std::vector<at::Tensor> completed(std::vector<at::Tensor> given);
  // The type of the input at this place; nothing: there are fewer inputs.
  std::optional<c10::ScalarType> type_at(std::size_t place) const;

 private:
  bool fits(const Program::Input& input, const at::Tensor& given);
  bool fits_extent(const Program::Extent& extent, std::int64_t size);
  std::int64_t size_of(const Program::Extent& extent) const;

  static constexpr const char* kInputs = "the dataset's inputs, and with loss = \"model\" its targets";

  const std::vector<Program::Input> inputs_;
  const std::string file_;
  const std::string what_;
  const std::string takes_;
  std::vector<std::pair<const std::string*, std::int64_t>> symbols_;  // values in the current batch
};

}  // namespace ddp::graph
