#include "train/replay/recorded_forward.h"

#include <utility>

#include <torch/nn/module.h>

#include "config/experiment.h"
#include "model/call.h"
#include "models/model.h"

namespace ddp::train {
namespace {

constexpr std::size_t kMostLayouts = 32;
const NamedTensors kNoParameters;  // a forward makes no gradients

}  // namespace

bool may_record(const config::Experiment& experiment, c10::Device device, const torch::nn::Module& module) {
  const auto* const several = dynamic_cast<const model::GivesOutputs*>(&module);
  if (several != nullptr && several->draws_in_evaluation()) return false;  // a replay would not seed the generator
  return experiment.replay != "off" && device.is_cpu() && models::makes_same_calls(experiment.model);
}

NamedTensors RecordedForward::operator()(const std::vector<at::Tensor>& inputs) {
  if (!records_) return forward_(inputs);
  std::vector<std::int64_t> layout = layout_of(inputs);
  if (kinds_.size() >= kMostLayouts && !kinds_.contains(layout)) return forward_(inputs);
  Kind& kind = kinds_[std::move(layout)];
  if (!kind.is_trusted()) return watch(inputs, kind);
  try {
    const std::vector<at::Tensor>& kept = kind.player().forward(inputs);
    NamedTensors outputs;
    for (std::size_t i = 0; i < kept.size(); ++i) outputs.emplace_back(names_[i], kept[i].clone());
    kind.player().drop_results();
    return outputs;
  } catch (const c10::Error&) {
    forward_(inputs);  // fails too, with the words of the layer
    throw;
  }
}

NamedTensors RecordedForward::watch(const std::vector<at::Tensor>& inputs, Kind& kind) {
  kind.begin({.batch = inputs, .parameters = &kNoParameters}, buffers_);
  NamedTensors outputs;
  {
    std::optional<Recorder> recorder;
    kind.watch(recorder);
    outputs = forward_(inputs);
  }
  try {
    kind.end(outputs, common_);
    names_.clear();
    for (const auto& [name, output] : outputs) names_.push_back(name);
  } catch (const NotStatic& error) {
    records_ = false;
    kinds_.clear();
    common_.clear();
    if (error.has_other_bits) refused_(error.reason);
  }
  return outputs;
}

}  // namespace ddp::train
