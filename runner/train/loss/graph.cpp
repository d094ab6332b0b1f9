#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <c10/util/StringUtil.h>

#include "base/error.h"
#include "config/text/source.h"
#include "graph/executor.h"
#include "graph/program.h"
#include "graph/resolve.h"
#include "model/call.h"
#include "train/loss/loss.h"

// Losses that a graph from Python computes: a model's own one, or one that was exported by itself.
namespace ddp::train {

std::size_t place_of_loss(const std::vector<std::string>& names, const std::string& where) {
  return model::place_of(kLoss, names, where, "name the loss \"loss\", or return it alone or first in a tuple");
}

std::vector<std::string> scalars_beside_loss(const std::vector<std::string>& outputs,
                                             std::vector<std::string> scalars) {
  const std::string& loss = outputs[place_of_loss(outputs)];
  std::erase_if(scalars, [&](const std::string& name) { return name == loss || model::is_of_list(name); });
  return scalars;
}

namespace {

// Takes the loss and the scalars from the outputs of the graph that computes it.
BatchLoss loss_in(const NamedTensors& outputs) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : outputs) names.push_back(name);
  const std::size_t place = place_of_loss(names);
  BatchLoss loss{.value = outputs[place].second};
  if (loss.value.dim() > 1 || !loss.value.is_floating_point()) {
    throw usage_error("forward returns a loss of shape " + c10::str(loss.value.sizes()) + " and type " +
                          c10::toString(loss.value.scalar_type()),
                      "loss", "a loss is one floating-point number, or one for each sample: take the mean or sum");
  }
  if (loss.value.dim() == 1) {
    loss.each = loss.value;
    loss.value = loss.each.mean();
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto& [name, output] = outputs[i];
    if (i != place && output.dim() == 0 && !model::is_of_list(name)) loss.scalars.emplace_back(name, output.detach());
  }
  return loss;
}

const bool model_registered = losses().add<config::NoOptions>(
    "model", "the model computes its loss: forward takes the inputs, then the targets",
    [](const config::NoOptions&) {
      return Loss(LossParts{
          .graph = GraphLoss{.of = [](const NamedTensors& outputs, const NamedTensors&) { return loss_in(outputs); },
                             .is_of_model = true}});
    },
    {{"targets", "optional"}, {"same_calls", true}});

struct ExportedLossOptions {
  std::string path;
  std::string eval;
  bool gather = false;
  void fields(config::Fields& f) {
    f({.name = "path", .doc = "file that torch.export.save wrote", .required = true, .path = true}, path);
    f({.name = "eval",
       .doc = "file of the loss for the outputs of evaluation, for a model that gives others in training; "
              "python/export_model.py writes it if needed",
       .path = true},
      eval);
    f({.name = "gather",
       .doc = "training: the loss gets the outputs and targets of all ranks as one batch, so that samples are compared "
              "with those of other ranks"},
      gather);
  }
};

// A graph of a loss that was written in Python and saved with torch.export.
class ExportedLoss {
 public:
  ExportedLoss(graph::Program program, graph::Use use)
      : program_(std::move(program)),
        use_(use),
        shapes_(program_, "the loss", "the model's outputs, then the dataset's targets") {
    for (const graph::Program::Bound& bound : program_.bound) {
      if (bound.role == graph::Program::Bound::Role::parameter) {
        throw usage_error(
            "the loss has the parameter " + config::in_quotes(bound.name) + ", which would not be trained",
            program_.file, "make it a parameter of the model, or a buffer");
      }
    }
    place_of_loss(program_.output_names(), program_.file);
  }

  BatchLoss operator()(const NamedTensors& outputs, const NamedTensors& targets) {
    const c10::Device device = outputs.front().second.device();
    std::vector<std::string> names;
    for (const auto& [name, output] : outputs) names.push_back(name);
    std::vector<at::Tensor> inputs =
        model::in_order(model::order_of(names, program_.argument_names()), tensors_of(outputs));
    for (at::Tensor& target : on_device(targets, device)) inputs.push_back(std::move(target));
    if (!executor_) executor_.emplace(resolved(device));
    const NamedTensors values = executor_->run(shapes_.fitted(std::move(inputs)));
    require_constant_buffers();
    return loss_in(values);
  }

  const graph::ShapeCheck& shapes() const { return shapes_; }

  // Is the loss the cross entropy of the first output and the first target? A target that was computed, such as the
  // place of a pair in a batch, is no class of the data.
  bool is_of_classes() const try {
    for (const nlohmann::json& node : program_.graph.at("nodes")) {
      const std::string target = node.value("target", "");
      if (target.find("aten.cross_entropy_loss") == std::string::npos &&
          target.find("aten.nll_loss") == std::string::npos) {
        continue;
      }
      const nlohmann::json& inputs = node.at("inputs");
      if (inputs.size() < 2) continue;
      const nlohmann::json& labels = inputs[1].value("arg", nlohmann::json::object());
      const std::string name = labels.value("as_tensor", nlohmann::json::object()).value("name", "");
      if (program_.inputs.size() == 2 && name == program_.inputs[1].value) return true;
    }
    return false;
  } catch (const nlohmann::json::exception&) {  // the first call reports a damaged graph
    return false;
  }

 private:
  graph::CallList resolved(c10::Device device) {
    for (const graph::Program::Bound& bound : program_.bound) {
      const at::Tensor tensor = bound.tensor.to(device);
      if (tensors_.emplace(bound.name, tensor).second) versions_.emplace(bound.name, tensor._version());
    }
    use_.device = device;
    return graph::resolve(program_, use_, tensors_);
  }

  // A checkpoint has no state of the loss.
  void require_constant_buffers() const {
    for (const auto& [name, tensor] : tensors_) {
      if (tensor._version() == versions_.at(name)) continue;
      throw usage_error("the loss changes its buffer " + config::in_quotes(name) + ", and no checkpoint would keep it",
                        program_.file, "make it a buffer of the model");
    }
  }

  const graph::Program program_;
  graph::Use use_;
  graph::ShapeCheck shapes_;
  std::map<std::string, at::Tensor> tensors_;
  std::map<std::string, std::int64_t> versions_;  // of the tensors: a write in place raises it
  std::optional<graph::Executor> executor_;
};

const bool exported_registered = losses().add<ExportedLossOptions>(
    "exported", "a loss written in Python and saved with torch.export.save",
    [](const ExportedLossOptions& o) {
      const graph::Program program = graph::read_program(o.path);
      const auto trains = std::make_shared<ExportedLoss>(program, graph::Use());
      const auto evaluates =
          std::make_shared<ExportedLoss>(o.eval.empty() ? program : graph::read_program(o.eval),
                                         graph::Use{.evaluates = true, .is_switched = o.eval.empty()});
      return Loss(LossParts{
          .graph = GraphLoss{.of =
                                 [trains, evaluates](const NamedTensors& outputs, const NamedTensors& targets) {
                                   return (at::GradMode::is_enabled() ? *trains : *evaluates)(outputs, targets);
                                 },
                             .gathers = o.gather,
                             .of_classes = trains->is_of_classes(),
                             .compares_samples = program.compares_samples,
                             .argument_names = program.argument_names(),
                             .scalar_names = scalars_beside_loss(program.output_names(), program.scalar_names()),
                             .batch_sizes = trains->shapes().batch_sizes(),
                             .target_type = [trains](std::size_t n) { return trains->shapes().type_at(n); }}});
    },
    {{"targets", "optional"}, {"same_calls", true}});

}  // namespace
}  // namespace ddp::train
