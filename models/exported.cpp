#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <torch/nn/module.h>

#include "base/error.h"
#include "config/text/source.h"
#include "graph/evaluation.h"
#include "graph/memory_bound.h"
#include "graph/resolve.h"
#include "model/batch_sizes.h"
#include "model/call.h"
#include "model/doubts.h"
#include "models/model.h"

// A model that was written in Python and saved with torch.export. This file runs its graph, call by call.
namespace ddp::models {
namespace {

using graph::Program;

struct ExportedOptions {
  std::string path;
  std::string eval;
  void fields(config::Fields& f) {
    f({.name = "path", .doc = "file that torch.export.save wrote for model.train()", .required = true, .path = true},
      path);
    f({.name = "eval",
       .doc = "file of model.eval(), for a model whose evaluation differs from the switched graph of model.train(); "
              "python/export_model.py writes it if needed",
       .path = true},
      eval);
  }
};

// A module that only holds tensors and modules, under their Python names.
struct ExportedPart : torch::nn::Module {
  // Returns the submodule of this name; adds it if it is missing.
  std::shared_ptr<torch::nn::Module> part(const std::string& name) {
    auto& known = parts[name];
    if (known == nullptr) known = register_module(name, std::make_shared<ExportedPart>());
    return known;
  }

  // Called by data_parallel. Fails because the calls of the graph are bound to the tensors of one device.
  std::shared_ptr<torch::nn::Module> clone(const std::optional<c10::Device>&) const override {
    throw usage_error("a model written in Python cannot be copied onto several devices of a rank", "parallel",
                      "use parallel = \"ddp\" with a rank for each device");
  }

  std::map<std::string, std::shared_ptr<ExportedPart>> parts;
};

// Checks the inputs of a batch against the shapes of the export.
class ShapeCheck {
 public:
  ShapeCheck(const Program& program) : inputs_(program.inputs), file_(program.file) {}

  // The size of a batch is the first extent of each input.
  model::BatchSizes batch_sizes() const {
    model::BatchSizes sizes;
    for (const Program::Input& input : inputs_) {
      if (input.sizes.empty()) continue;
      const Program::Extent& batch = input.sizes.front();
      sizes.least = std::max(sizes.least, batch.symbol.empty() ? batch.size : batch.least);
      sizes.most = std::min(sizes.most, batch.symbol.empty() ? batch.size : batch.most);
    }
    return sizes;
  }

  void require(const std::vector<at::Tensor>& given) {
    if (given.size() != inputs_.size()) {
      throw usage_error("the model takes " + std::to_string(inputs_.size()) + " inputs, but the dataset gives " +
                            std::to_string(given.size()),
                        file_, "name the dataset's inputs in the order of forward's arguments");
    }
    symbols_.clear();
    for (std::size_t i = 0; i < given.size(); ++i) require(inputs_[i], given[i]);
  }

 private:
  static constexpr const char* kSameInputs =
      "give the inputs as the model takes them (dataset.inputs: in the order of forward's arguments), or export it for "
      "inputs like the dataset's";

  void require(const Program::Input& input, const at::Tensor& given) {
    if (given.scalar_type() != input.type) refuse(input, given, remedy_for_type(input));
    if (given.dim() != static_cast<std::int64_t>(input.sizes.size())) {
      refuse(input, given, std::string("the numbers of dimensions differ: ") + kSameInputs);
    }
    for (std::size_t d = 0; d < input.sizes.size(); ++d) {
      if (!fits_extent(input.sizes[d], given.size(static_cast<std::int64_t>(d)))) {
        refuse(input, given, remedy_for_extent(input, d));
      }
    }
  }

  bool fits_extent(const Program::Extent& extent, std::int64_t size) {
    if (extent.symbol.empty()) return size == extent.size;
    if (size < extent.least || size > extent.most) return false;
    for (const auto& [symbol, value] : symbols_) {
      if (*symbol == extent.symbol) return extent.symbol == "?" || value == size;
    }
    symbols_.emplace_back(&extent.symbol, size);
    return true;
  }

  static std::string remedy_for_type(const Program::Input& input) {
    const bool numbers = c10::isFloatingType(input.type);
    if (input.type == c10::kDouble) return "datasets give float32: export model.float() with a float32 input";
    return std::string("the types differ: ") + kSameInputs +
           (numbers ? "; dataset.scale makes float32 of whole numbers" : "");
  }

  static std::string remedy_for_extent(const Program::Input& input, std::size_t d) {
    if (d == 0) return "export it with dynamic_shapes=({0: torch.export.Dim(\"batch\")},)";
    const bool tokens = input.type == c10::kLong && input.sizes.size() == 2;
    return "dimension " + std::to_string(d) + " differs, counted from 0, the batch: " +
           (tokens ? "set dataset.block_size to " + text_of(input.sizes[d]) + ", or give a prompt of so many tokens; " +
                         "or export it with --input of that range"
                   : kSameInputs);
  }

  static std::string text_of(const Program::Extent& extent) {
    if (extent.symbol.empty()) return std::to_string(extent.size);
    if (extent.most >= INT64_MAX / 2) return "any";
    return std::to_string(extent.least) + " to " + std::to_string(extent.most);
  }

  // As plan shows types.
  static std::string name_of(c10::ScalarType type) {
    return type == c10::kFloat    ? "float32"
           : type == c10::kDouble ? "float64"
           : type == c10::kLong   ? "int64"
                                  : c10::toString(type);
  }

  [[noreturn]] void refuse(const Program::Input& input, const at::Tensor& given, const std::string& remedy) const {
    std::string shape;
    for (const auto& extent : input.sizes) shape += (shape.empty() ? "" : ", ") + text_of(extent);
    throw usage_error("the model was exported for an input" +
                          (input.name.empty() ? "" : " " + config::in_quotes(input.name)) + " of shape [" + shape +
                          "] and type " + name_of(input.type) + ", but the dataset gives " + c10::str(given.sizes()) +
                          " of type " + name_of(given.scalar_type()),
                      file_, remedy);
  }

  const std::vector<Program::Input> inputs_;
  const std::string file_;
  std::vector<std::pair<const std::string*, std::int64_t>> symbols_;  // values in the current batch
};

struct Exported : ExportedPart, model::TakesInputs, model::LimitsBatches, model::HasDoubts {
  Exported(const ExportedOptions& options, const c10::Device& device)
      : Exported(graph::read_program(options.path), options, device) {}

  Exported(const Program& trained, const ExportedOptions& options, const c10::Device& device)
      : shapes_(trained),
        file_(trained.file),
        is_of_evaluation_(graph::is_of_evaluation(trained.graph)),
        trains_(bind(trained, device)),
        evaluates_(executor_of_evaluation(trained, options, device)) {
    if (device.is_cpu()) graph::bound_memory();
  }

  at::Tensor forward(const std::vector<at::Tensor>& inputs) {
    shapes_.require(inputs);
    return (is_training() ? trains_ : evaluates_).run(inputs);
  }

  model::BatchSizes batch_sizes() const override { return shapes_.batch_sizes(); }

  std::vector<std::string> doubts() const override {
    if (!is_of_evaluation_) return {};
    return {file_ +
            ": its batch norms and dropouts are in evaluation mode, and stay so in training: it was exported from "
            "model.eval(); export model.train() with python/export_model.py, unless you mean it"};
  }

 private:
  graph::Executor bind(const Program& program, const c10::Device& device) {
    for (const Program::Bound& bound : program.bound) {
      at::Tensor tensor = bound.tensor;
      if (bound.role == Program::Bound::Role::constant) {
        tensor = tensor.to(device);
      } else {
        add(bound);
      }
      tensors_.emplace(bound.name, tensor);
    }
    return graph::Executor(graph::resolve(program, {.device = device}, tensors_));
  }

  // "layers.0.weight" is the tensor "weight" in the module "0" in the module "layers".
  void add(const Program::Bound& bound) try {
    torch::nn::Module* owner = this;
    std::size_t begin = 0;
    for (std::size_t dot = 0; (dot = bound.name.find('.', begin)) != std::string::npos; begin = dot + 1) {
      owner = static_cast<ExportedPart*>(owner)->part(bound.name.substr(begin, dot - begin)).get();
    }
    const std::string name = bound.name.substr(begin);
    if (bound.role == Program::Bound::Role::parameter) {
      owner->register_parameter(name, bound.tensor, bound.tensor.requires_grad());
    } else {
      owner->register_buffer(name, bound.tensor);
    }
  } catch (const c10::Error& error) {
    throw usage_error("the weight " + config::in_quotes(bound.name) + ": " + config::printable(error.msg()),
                      "model.path");
  }

  graph::Executor executor_of_evaluation(const Program& trained, const ExportedOptions& options,
                                         const c10::Device& device) {
    if (options.eval.empty()) {
      return graph::Executor(graph::resolve(trained, {.evaluates = true, .device = device}, tensors_));
    }
    const Program own = graph::read_program(options.eval);
    // The evaluation uses the trained weights, but the constants of its own file.
    std::map<std::string, at::Tensor> tensors = tensors_;
    for (const Program::Bound& bound : own.bound) {
      if (bound.role == Program::Bound::Role::constant) tensors[bound.name] = bound.tensor.to(device);
    }
    return graph::Executor(graph::resolve(own, {.evaluates = true, .is_switched = false, .device = device}, tensors));
  }

  std::map<std::string, at::Tensor> tensors_;
  ShapeCheck shapes_;
  const std::string file_;
  const bool is_of_evaluation_;
  graph::Executor trains_;
  graph::Executor evaluates_;
};

const bool exported_registered = registry().add<ExportedOptions>(
    "exported", "a model written in Python and saved with torch.export.save",
    [](const ExportedOptions& o, const Placement& placement) {
      return torch::nn::AnyModule(std::make_shared<Exported>(o, placement.devices.front()));
    },
    {{"read_by_validate", true}});

}  // namespace
}  // namespace ddp::models
