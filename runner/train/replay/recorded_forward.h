#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "model/named_tensors.h"
#include "train/replay/kind.h"

namespace ddp::config {
struct Experiment;
}
namespace torch::nn {
class Module;
}

namespace ddp::train {

// Tells whether forwards of this experiment's model are recorded.
bool may_record(const config::Experiment& experiment, c10::Device device, const torch::nn::Module& module);

// Computes the outputs of a model whose weights stay where they are, as in an evaluation, with the bits of its forward.
// Batches of one layout are recorded twice; if both recordings are alike, and the first replay has the bits of the
// third forward, the kernels alone are called from then on. Not under autograd: call it with a NoGradGuard.
class RecordedForward {
 public:
  using Forward = std::function<NamedTensors(const std::vector<at::Tensor>& inputs)>;
  // `records`: may_record(). `buffers`: of the model; they outlive this object. `refused`: gets the reason if a replay
  // has other bits.
  RecordedForward(Forward forward, bool records, const NamedTensors& buffers,
                  std::function<void(const std::string& reason)> refused)
      : forward_(std::move(forward)), records_(records), buffers_(buffers), refused_(std::move(refused)) {}

  NamedTensors operator()(const std::vector<at::Tensor>& inputs);

 private:
  NamedTensors watch(const std::vector<at::Tensor>& inputs, Kind& kind);

  const Forward forward_;
  bool records_;
  const NamedTensors& buffers_;
  const std::function<void(const std::string& reason)> refused_;
  std::map<std::vector<std::int64_t>, Kind> kinds_;
  CommonMemory common_;
  std::vector<std::string> names_;  // of the outputs
};

}  // namespace ddp::train
