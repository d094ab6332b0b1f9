#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <torch/nn/module.h>

#include "base/error.h"
#include "config/text/source.h"
#include "graph/archive.h"
#include "graph/executor.h"
#include "graph/program.h"
#include "graph/resolve.h"
#include "model/batch_sizes.h"
#include "model/call.h"
#include "model/weights.h"
#include "models/model.h"

// A model that was written in Python and saved with torch.export. This file runs its graph, call by call.
namespace ddp::models {
namespace {

using graph::Program;

struct ExportedOptions {
  std::string path;
  std::string eval;
  std::string predict;
  std::string init = "file";
  void fields(config::Fields& f) {
    f({.name = "path", .doc = "file that torch.export.save wrote for model.train()", .required = true, .path = true},
      path);
    f({.name = "eval",
       .doc = "file of model.eval(), for a model whose evaluation differs from the switched graph of model.train(); "
              "python/export_model.py writes it if needed",
       .path = true},
      eval);
    f({.name = "predict",
       .doc = "file of a graph with the same weights that takes the inputs alone, for predictions of a model that "
              "computes its loss",
       .path = true},
      predict);
    f({.name = "init",
       .doc = "\"file\": the first weights are those of the file; \"seed\": the experiment's seed draws them, as the "
              "model's class does in Python",
       .choices = {"file", "seed"}},
      init);
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

struct Exported : ExportedPart, model::TakesInputs, model::GivesOutputs, model::LimitsBatches, model::HasWarnings {
  Exported(const ExportedOptions& options, const Placement& placement)
      : Exported(graph::read_program(options.path, placement.loads_weights), options, placement) {}

  Exported(const Program& trained, const ExportedOptions& options, const Placement& placement)
      : placement_(placement),
        shapes_(trained),
        file_(trained.file),
        is_of_evaluation_(graph::is_of_evaluation(trained.graph)),
        has_synchronised_norms_(graph::has_synchronised_norms(trained.graph)),
        argument_names_(trained.argument_names()),
        argument_values_(trained.argument_values()),
        answers_next_(trained.answers_next),
        compares_samples_(trained.compares_samples),
        output_names_(trained.output_names()),
        scalar_names_(trained.scalar_names()),
        trains_(bind(trained)),
        evaluates_(executor_of_evaluation(trained, options)) {
    if (!options.predict.empty()) {
      const Program own = read(options.predict);
      predicts_.emplace(bind_again(own, "model.predict"));
      prediction_shapes_.emplace(own, "the graph for predictions", "the dataset's inputs");
    }
    if (device().is_cpu()) graph::bound_memory();
    if (options.init == "seed" && !placement.loads_weights) draw_weights(trained);
  }

  at::Tensor forward(const std::vector<at::Tensor>& inputs) { return model::main_output(outputs_of(inputs)); }

  NamedTensors outputs_of(const std::vector<at::Tensor>& inputs) override {
    return (is_training() ? trains_ : evaluates_).run(shapes_.fitted(inputs));
  }

  std::vector<std::string> output_names() const override { return output_names_; }
  std::vector<std::string> scalar_names() const override { return scalar_names_; }
  std::vector<std::string> argument_names() const override { return argument_names_; }
  std::vector<std::int64_t> argument_values() const override { return argument_values_; }
  bool answers_next() const override { return answers_next_; }
  bool compares_samples() const override { return compares_samples_; }

  NamedTensors predicted(const std::vector<at::Tensor>& inputs) override {
    if (predicts_) {
      return predicts_->run(prediction_shapes_->fitted(inputs));
    }
    const std::vector<at::Tensor> completed = shapes_.completed(inputs);
    NamedTensors outputs = outputs_of(completed);
    if (completed.size() == inputs.size()) return outputs;
    // The losses of samples, and perhaps others, are of targets that are zeros here.
    std::erase_if(outputs, [](const auto& one) { return one.first == "loss"; });
    const auto main = model::main_answer(outputs);
    return main == outputs.end() ? NamedTensors() : NamedTensors{*main};
  }

  bool draws_in_evaluation() const override {
    return evaluates_.list().draws_alike || (predicts_ && predicts_->list().draws_alike);
  }

  std::optional<c10::ScalarType> target_type(std::size_t inputs) const override { return shapes_.type_at(inputs); }

  std::int64_t operators() const override {
    const auto& calls = trains_.list().calls;
    return std::count_if(calls.begin(), calls.end(), [](const auto& call) { return call.operation != nullptr; });
  }

  model::BatchSizes batch_sizes() const override { return shapes_.batch_sizes(); }

  std::vector<std::string> warnings(int ranks) const override {
    if (is_of_evaluation_) {
      return {file_ + ": was exported from model.eval(): its batch norms and dropouts stay in evaluation mode"};
    }
    if (has_synchronised_norms_ && ranks > 1) {
      return {file_ +
              ": SyncBatchNorm is not synchronised among ranks without sync_batch_norm = true in [model]: it "
              "normalises with the rank's own samples"};
    }
    return {};
  }

 private:
  const c10::Device& device() const { return placement_.devices.front(); }
  Program read(const std::string& file) const { return graph::read_program(file, placement_.loads_weights); }

  graph::Executor bind(const Program& program) {
    for (const Program::Bound& bound : program.bound) {
      at::Tensor tensor = bound.tensor;
      if (bound.role == Program::Bound::Role::constant) {
        tensor = tensor.to(device());
      } else {
        add(bound);
      }
      tensors_.emplace(bound.name, tensor);
    }
    return graph::Executor(graph::resolve(program, {.device = device()}, tensors_));
  }

  // On the CPU, where Python draws.
  void draw_weights(const Program& trained) {
    if (!trained.draws_weights) {
      throw usage_error(file_ + " cannot draw the model's weights" +
                            (trained.fixed_weights.empty() ? "" : ": " + config::printable(trained.fixed_weights)),
                        "model.init",
                        trained.fixed_weights.empty() ? "python/export_model.py writes a file that can"
                                                      : "with \"file\" all seeds begin with the weights of the file");
    }
    const Program init = graph::read_initialisation(file_);
    std::map<std::string, at::Tensor> constants;
    for (const Program::Bound& bound : init.bound) constants.emplace(bound.name, bound.tensor);
    const at::NoGradGuard no_grad;
    for (const auto& [name, drawn] : graph::Executor(graph::resolve(init, {}, constants)).run({})) {
      const auto own = tensors_.find(name);
      if (own == tensors_.end() || model::type_and_shape(own->second) != model::type_and_shape(drawn)) {
        throw usage_error(file_ + " draws another weight " + config::in_quotes(name) + " than it has", "model.init",
                          graph::kExportAgain);
      }
      own->second.copy_(drawn);
    }
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

  graph::Executor executor_of_evaluation(const Program& trained, const ExportedOptions& options) {
    if (options.eval.empty()) {
      return graph::Executor(graph::resolve(trained, {.evaluates = true, .device = device()}, tensors_));
    }
    return bind_again(read(options.eval), "model.eval");
  }

  // Another graph of model.eval() uses the trained weights, but the constants of its own file. `key`: of its file.
  graph::Executor bind_again(const Program& own, const std::string& key) const {
    require_same_weights(own, key);
    std::map<std::string, at::Tensor> tensors = tensors_;
    for (const Program::Bound& bound : own.bound) {
      if (bound.role == Program::Bound::Role::constant) tensors[bound.name] = bound.tensor.to(device());
    }
    return graph::Executor(graph::resolve(own, {.evaluates = true, .is_switched = false, .device = device()}, tensors));
  }

  void require_same_weights(const Program& other, const std::string& key) const {
    for (const Program::Bound& bound : other.bound) {
      if (bound.role == Program::Bound::Role::constant) continue;
      const auto found = tensors_.find(bound.name);
      const std::string its = model::type_and_shape(bound.tensor);
      if (found != tensors_.end() && model::type_and_shape(found->second) == its) continue;
      throw usage_error(other.file + " is of another model than " + file_ + ": its weight " +
                            config::in_quotes(bound.name) + " is " + its + ", and the model to train has " +
                            (found == tensors_.end() ? "none of this name" : model::type_and_shape(found->second)),
                        key, "give the file that python/export_model.py wrote beside that model");
    }
  }

  const Placement placement_;
  std::map<std::string, at::Tensor> tensors_;
  graph::ShapeCheck shapes_;
  const std::string file_;
  const bool is_of_evaluation_;
  const bool has_synchronised_norms_;
  const std::vector<std::string> argument_names_;
  const std::vector<std::int64_t> argument_values_;
  const bool answers_next_;
  const bool compares_samples_;
  const std::vector<std::string> output_names_, scalar_names_;
  graph::Executor trains_;
  graph::Executor evaluates_;
  std::optional<graph::Executor> predicts_;
  std::optional<graph::ShapeCheck> prediction_shapes_;
};

const bool exported_registered =
    registry().add<ExportedOptions>("exported", "a model written in Python and saved with torch.export.save",
                                    [](const ExportedOptions& o, const Placement& placement) {
                                      return torch::nn::AnyModule(std::make_shared<Exported>(o, placement));
                                    },
                                    {{"read_by_validate", true}, {"same_calls", true}});

}  // namespace
}  // namespace ddp::models
