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
  ShapeCheck(const Program& program)
      : inputs_(program.inputs), file_(program.file), gives_number_(program.gives_number) {}

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

  // `trains`: the inputs come from the training; otherwise from a file or a prompt for the trained model.
  void require(const std::vector<at::Tensor>& given, bool trains) {
    trains_ = trains;
    if (given.size() != inputs_.size()) {
      throw usage_error("the model takes " + std::to_string(inputs_.size()) + " inputs, but " + giver() + " " +
                            std::to_string(given.size()),
                        file_,
                        std::string("name the dataset's inputs in the order of forward's arguments") +
                            (gives_number_ ? "; forward returns one number: if that is a loss, return the logits, for "
                                             "the experiment's `loss` computes it"
                                           : ""));
    }
    symbols_.clear();
    for (std::size_t i = 0; i < given.size(); ++i) require(inputs_[i], given[i]);
  }

 private:
  std::string same_inputs() const {
    return trains_
               ? "give the inputs as the model takes them (dataset.inputs: in the order of forward's arguments), or "
                 "export it for inputs like the dataset's"
               : "give the inputs as the model takes them";
  }

  const char* giver() const { return trains_ ? "the dataset gives" : "it gets"; }

  void require(const Program::Input& input, const at::Tensor& given) {
    std::string remedy;
    if (given.scalar_type() != input.type) remedy = remedy_for_type(input);
    if (const std::string shape = remedy_for_shape(input, given); !shape.empty()) {
      remedy += (remedy.empty() ? "" : "; ") + shape;
    }
    if (!remedy.empty()) refuse(input, given, remedy);
  }

  // Returns "" if the shape fits.
  std::string remedy_for_shape(const Program::Input& input, const at::Tensor& given) {
    if (given.dim() != static_cast<std::int64_t>(input.sizes.size())) {
      return "the numbers of dimensions differ: " + same_inputs();
    }
    for (std::size_t d = 0; d < input.sizes.size(); ++d) {
      const std::int64_t size = given.size(static_cast<std::int64_t>(d));
      if (fits_extent(input.sizes[d], size)) continue;
      const std::string order = d == 0 ? "" : order_of(input, given);
      return order.empty() ? remedy_for_extent(input, d, size) : order;
    }
    return "";
  }

  // If the given dimensions are the model's in another order, returns the call that exchanges them.
  static std::string order_of(const Program::Input& input, const at::Tensor& given) {
    std::vector<std::int64_t> left(static_cast<std::size_t>(given.dim() - 1));
    for (std::size_t i = 0; i < left.size(); ++i) left[i] = static_cast<std::int64_t>(i) + 1;
    std::string order = "0";
    for (std::size_t d = 1; d < input.sizes.size(); ++d) {
      const Program::Extent& extent = input.sizes[d];
      const auto found = std::find_if(left.begin(), left.end(), [&](std::int64_t place) {
        return extent.symbol.empty() && given.size(place) == extent.size;
      });
      if (found == left.end()) return "";
      order += ", " + std::to_string(*found);
      left.erase(found);
    }
    return "the dimensions are in another order: store the data as x.transpose(" + order +
           ") of NumPy, or export a model whose forward begins with x.permute(" + order + ")";
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

  std::string remedy_for_type(const Program::Input& input) const {
    if (input.type == c10::kDouble) return "datasets give float32: export model.float() with a float32 input";
    return "the types differ: " + same_inputs() +
           (trains_ && c10::isFloatingType(input.type) ? "; dataset.scale makes float32 of whole numbers" : "");
  }

  std::string remedy_for_extent(const Program::Input& input, std::size_t d, std::int64_t size) const {
    if (d == 0) return "export it with dynamic_shapes=({0: torch.export.Dim(\"batch\")},)";
    const Program::Extent& extent = input.sizes[d];
    const std::string what = "dimension " + std::to_string(d) + " is " + std::to_string(size) + " and must be " +
                             text_of(extent) + " (dimension 0 is the batch): ";
    if (input.type != c10::kLong || input.sizes.size() != 2) return what + same_inputs();
    if (trains_) return what + "set dataset.block_size to " + text_of(extent);
    return what + "the model takes texts of " + text_of(extent) + " tokens" +
           (size < extent.size || size < extent.least ? "; `generate` needs a prompt of that many tokens or more" : "");
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
                          "] and type " + name_of(input.type) + ", but " + giver() + " " + c10::str(given.sizes()) +
                          " of type " + name_of(given.scalar_type()),
                      file_, remedy);
  }

  const std::vector<Program::Input> inputs_;
  const std::string file_;
  const bool gives_number_;
  bool trains_ = true;
  std::vector<std::pair<const std::string*, std::int64_t>> symbols_;  // values in the current batch
};

struct Exported : ExportedPart, model::TakesInputs, model::LimitsBatches, model::HasDoubts {
  Exported(const ExportedOptions& options, const c10::Device& device)
      : Exported(graph::read_program(options.path), options, device) {}

  Exported(const Program& trained, const ExportedOptions& options, const c10::Device& device)
      : shapes_(trained),
        file_(trained.file),
        outputs_(trained.outputs),
        is_of_evaluation_(graph::is_of_evaluation(trained.graph)),
        trains_(bind(trained, device)),
        evaluates_(executor_of_evaluation(trained, options, device)) {
    if (device.is_cpu()) graph::bound_memory();
  }

  at::Tensor forward(const std::vector<at::Tensor>& inputs) {
    shapes_.require(inputs, is_training());
    return (is_training() ? trains_ : evaluates_).run(inputs);
  }

  model::BatchSizes batch_sizes() const override { return shapes_.batch_sizes(); }

  std::vector<std::string> doubts() const override {
    if (!is_of_evaluation_) return {};
    return {file_ +
            ": its batch norms and dropouts are in evaluation mode, and stay so in training: it was exported from "
            "model.eval(); export model.train() with python/export_model.py, unless you mean it"};
  }

  std::string outputs_without_loss() const override {
    if (outputs_ < 2) return "";
    return "forward returns " + std::to_string(outputs_) +
           " tensors, and only one of them goes to the loss: \"logits\" of a dict, otherwise the first";
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
  const std::size_t outputs_;
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
