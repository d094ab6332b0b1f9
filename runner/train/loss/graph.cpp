#include <algorithm>
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
  if (names.size() == 1 || model::is_of_list(names.front())) return 0;
  const auto loss = std::find(names.begin(), names.end(), kLoss);
  if (loss != names.end()) return static_cast<std::size_t>(loss - names.begin());
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  throw usage_error("forward returns a dict without \"loss\"; it has: " + config::printable(all), where,
                    "name the loss \"loss\", or return it alone or first in a tuple");
}

namespace {

// Takes the loss and the scalars from the outputs of the graph that computes it.
BatchLoss loss_in(const NamedTensors& outputs) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : outputs) names.push_back(name);
  const std::size_t place = place_of_loss(names);
  BatchLoss loss{.value = outputs[place].second};
  if (loss.value.dim() != 0 || !loss.value.is_floating_point()) {
    throw usage_error("forward returns a loss of shape " + c10::str(loss.value.sizes()) + " and type " +
                          c10::toString(loss.value.scalar_type()),
                      "loss", "a loss is one floating-point number: take its mean or sum");
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto& [name, output] = outputs[i];
    if (i != place && output.dim() == 0 && !model::is_of_list(name)) loss.scalars.emplace_back(name, output.detach());
  }
  return loss;
}

struct ModelLossOptions {
  void fields(config::Fields&) {}
};

const bool model_registered = losses().add<ModelLossOptions>(
    "model", "the model computes its loss: forward takes the inputs, then the targets",
    [](const ModelLossOptions&) {
      return Loss(LossParts{
          .graph = GraphLoss{.of = [](const NamedTensors& outputs, const NamedTensors&) { return loss_in(outputs); },
                             .is_of_model = true}});
    },
    {{"targets", "optional"}});

struct ExportedLossOptions {
  std::string path;
  bool gather = false;
  void fields(config::Fields& f) {
    f({.name = "path", .doc = "file that torch.export.save wrote", .required = true, .path = true}, path);
    f({.name = "gather",
       .doc = "training: the loss gets the outputs and targets of all ranks as one batch, so that samples are compared "
              "with those of other ranks"},
      gather);
  }
};

// A loss that was written in Python and saved with torch.export.
class ExportedLoss {
 public:
  explicit ExportedLoss(const std::string& path)
      : program_(graph::read_program(path)),
        shapes_(program_, "the loss", "the model's outputs, then the dataset's targets") {
    for (const graph::Program::Bound& bound : program_.bound) {
      if (bound.role == graph::Program::Bound::Role::parameter) {
        throw usage_error(
            "the loss has the parameter " + config::in_quotes(bound.name) + ", which would not be trained",
            program_.file, "make it a parameter of the model, or a buffer");
      }
    }
    for (const graph::Program::Output& output : program_.outputs) names_.push_back(output.name);
    place_of_loss(names_, program_.file);
  }

  BatchLoss operator()(const NamedTensors& outputs, const NamedTensors& targets) {
    const c10::Device device = outputs.front().second.device();
    std::vector<at::Tensor> inputs = tensors_of(outputs);
    for (at::Tensor& target : on_device(targets, device)) inputs.push_back(std::move(target));
    shapes_.require(inputs);
    const bool evaluates = !at::GradMode::is_enabled();
    std::optional<graph::Executor>& executor = evaluates ? evaluates_ : trains_;
    if (!executor) executor.emplace(resolved(evaluates, device));
    std::vector<at::Tensor> values = executor->run(inputs);
    require_constant_buffers();
    NamedTensors named;
    for (std::size_t i = 0; i < values.size(); ++i) named.emplace_back(names_[i], std::move(values[i]));
    return loss_in(named);
  }

  std::vector<std::string> scalar_names() const {
    std::vector<std::string> names;
    const std::size_t loss = place_of_loss(names_);
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const bool is_named = program_.outputs[i].is_scalar && !model::is_of_list(names_[i]);
      if (i != loss && is_named) names.push_back(names_[i]);
    }
    return names;
  }

  model::BatchSizes batch_sizes() const { return shapes_.batch_sizes(); }

  std::optional<c10::ScalarType> target_type(std::size_t outputs) const {
    const std::vector<c10::ScalarType> types = shapes_.types();
    return outputs < types.size() ? std::optional(types[outputs]) : std::nullopt;
  }

 private:
  graph::CallList resolved(bool evaluates, c10::Device device) {
    for (const graph::Program::Bound& bound : program_.bound) {
      const at::Tensor tensor = bound.tensor.to(device);
      if (tensors_.emplace(bound.name, tensor).second) versions_.emplace(bound.name, tensor._version());
    }
    return graph::resolve(program_, {.evaluates = evaluates, .device = device}, tensors_);
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
  graph::ShapeCheck shapes_;
  std::vector<std::string> names_;
  std::map<std::string, at::Tensor> tensors_;
  std::map<std::string, std::int64_t> versions_;  // of the tensors: a write in place raises it
  std::optional<graph::Executor> trains_, evaluates_;
};

const bool exported_registered = losses().add<ExportedLossOptions>(
    "exported", "a loss written in Python and saved with torch.export.save",
    [](const ExportedLossOptions& o) {
      const auto loss = std::make_shared<ExportedLoss>(o.path);
      return Loss(LossParts{
          .graph = GraphLoss{.of = [loss](const NamedTensors& outputs,
                                          const NamedTensors& targets) { return (*loss)(outputs, targets); },
                             .gathers = o.gather,
                             .scalar_names = loss->scalar_names(),
                             .batch_sizes = loss->batch_sizes(),
                             .target_type = [loss](std::size_t outputs) { return loss->target_type(outputs); }}});
    },
    {{"targets", "optional"}});

}  // namespace
}  // namespace ddp::train
