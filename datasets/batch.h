#pragma once

#include <cstdint>
#include <utility>

#include "model/named_tensors.h"

namespace ddp::datasets {

// Samples and their targets. Every tensor has one row per sample.
struct Batch {
  NamedTensors inputs;   // [n, …] each, in the order of the model's inputs
  NamedTensors targets;  // [n, …] each, or class indices [n] (int64)

  Batch() = default;
  // One input, named "input", and one target, named "target".
  Batch(at::Tensor input, at::Tensor target) {
    inputs.emplace_back("input", std::move(input));
    targets.emplace_back("target", std::move(target));
  }
  Batch(NamedTensors given_inputs, NamedTensors given_targets)
      : inputs(std::move(given_inputs)), targets(std::move(given_targets)) {}

  std::int64_t samples() const { return inputs.front().second.size(0); }

  // The first `count` samples, in the same memory.
  Batch first(std::int64_t count) const {
    Batch part;
    for (const auto& [name, tensor] : inputs) part.inputs.emplace_back(name, tensor.narrow(0, 0, count));
    for (const auto& [name, tensor] : targets) part.targets.emplace_back(name, tensor.narrow(0, 0, count));
    return part;
  }
};

}  // namespace ddp::datasets
