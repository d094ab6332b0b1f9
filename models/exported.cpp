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
#include "graph/memory_bound.h"
#include "graph/resolve.h"
#include "model/batch_sizes.h"
#include "model/call.h"
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
  void require(const Program::Input& input, const at::Tensor& given) {
    bool fits = given.dim() == static_cast<std::int64_t>(input.sizes.size()) && given.scalar_type() == input.type;
    for (std::size_t d = 0; fits && d < input.sizes.size(); ++d) {
      fits = fits_extent(input.sizes[d], given.size(static_cast<std::int64_t>(d)));
    }
    if (!fits) refuse(input, given);
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

  [[noreturn]] void refuse(const Program::Input& input, const at::Tensor& given) const {
    std::string shape;
    for (const auto& extent : input.sizes) {
      shape += shape.empty() ? "" : ", ";
      if (extent.symbol.empty()) {
        shape += std::to_string(extent.size);
      } else if (extent.most < INT64_MAX / 2) {
        shape += std::to_string(extent.least) + " to " + std::to_string(extent.most);
      } else {
        shape += "any";
      }
    }
    throw usage_error(
        "the model was exported for an input" + (input.name.empty() ? "" : " " + config::in_quotes(input.name)) +
            " of shape [" + shape + "] and type " + c10::toString(input.type) + ", but the dataset gives " +
            c10::str(given.sizes()) + " of type " + c10::toString(given.scalar_type()),
        file_, "export it with dynamic_shapes=({0: torch.export.Dim(\"batch\")},) and inputs like the dataset's");
  }

  const std::vector<Program::Input> inputs_;
  const std::string file_;
  std::vector<std::pair<const std::string*, std::int64_t>> symbols_;  // values in the current batch
};

struct Exported : ExportedPart, model::TakesInputs, model::LimitsBatches {
  Exported(const ExportedOptions& options, const c10::Device& device)
      : Exported(graph::read_program(options.path), options, device) {}

  Exported(const Program& trained, const ExportedOptions& options, const c10::Device& device)
      : shapes_(trained), trains_(bind(trained, device)), evaluates_(executor_of_evaluation(trained, options, device)) {
    if (device.is_cpu()) graph::bound_memory();
  }

  at::Tensor forward(const std::vector<at::Tensor>& inputs) {
    shapes_.require(inputs);
    return (is_training() ? trains_ : evaluates_).run(inputs);
  }

  model::BatchSizes batch_sizes() const override { return shapes_.batch_sizes(); }

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
