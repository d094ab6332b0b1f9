#include "train/replay/recorded_forward.h"

#include <utility>

#include "config/experiment.h"
#include "models/model.h"
#include "train/replay/comparison.h"

namespace ddp::train {
namespace {

constexpr std::size_t kMostLayouts = 32;
const NamedTensors kNoParameters;  // a forward makes no gradients

}  // namespace

bool may_record(const config::Experiment& experiment, c10::Device device) {
  return experiment.replay != "off" && device.is_cpu() && models::makes_same_calls(experiment.model);
}

NamedTensors RecordedForward::operator()(const std::vector<at::Tensor>& inputs) {
  if (!records_) return forward_(inputs);
  std::vector<std::int64_t> layout = layout_of(inputs);
  if (kinds_.size() >= kMostLayouts && !kinds_.contains(layout)) return forward_(inputs);
  Kind& kind = kinds_[std::move(layout)];
  if (!kind.player) return record(inputs, kind);
  if (!kind.is_trusted) return compare(inputs, kind);
  try {
    const std::vector<at::Tensor>& kept = kind.player->forward(inputs);
    NamedTensors outputs;
    for (std::size_t i = 0; i < kept.size(); ++i) outputs.emplace_back(names_[i], kept[i].clone());
    kind.player->drop_results();
    return outputs;
  } catch (const c10::Error&) {
    forward_(inputs);  // fails too, with the words of the layer
    throw;
  }
}

NamedTensors RecordedForward::record(const std::vector<at::Tensor>& inputs, Kind& kind) {
  Recording recording;
  NamedTensors outputs;
  {
    const Recorder recorder(recording);
    outputs = forward_(inputs);
  }
  try {
    Tape tape = tape_of(recording, {.batch = inputs, .parameters = &kNoParameters}, tensors_of(outputs));
    if (!kind.first) {
      tape.drop_results();
      kind.first.emplace(std::move(tape));
      return outputs;
    }
    names_.clear();
    for (const auto& [name, output] : outputs) names_.push_back(name);
    kind.player = player_of(*kind.first, std::move(tape), common_);
    kind.first.reset();
  } catch (const NotStatic&) {
    stop_recording();
  }
  return outputs;
}

NamedTensors RecordedForward::compare(const std::vector<at::Tensor>& inputs, Kind& kind) {
  const Comparison comparison(*kind.player, inputs, kNoParameters, buffers_);
  NamedTensors outputs = forward_(inputs);
  const std::string found = comparison.difference(outputs);
  kind.is_trusted = found.empty();
  if (!found.empty()) {
    stop_recording();
    refused_(kOtherBits + found);
  }
  return outputs;
}

void RecordedForward::stop_recording() {
  records_ = false;
  kinds_.clear();
  common_.clear();
}

}  // namespace ddp::train
