#pragma once

#include <utility>

#include <ATen/ops/index_select.h>
#include <ATen/ops/max.h>
#include <nlohmann/json.hpp>

#include "datasets/dataset.h"

namespace ddp::datasets {

// A dataset of contiguous tensors [n, …], which hold all samples.
class InMemory : public MapDataset {
 public:
  // `weights`: of the samples; undefined: none.
  InMemory(NamedTensors inputs, NamedTensors targets, at::Tensor weights = {})
      : inputs_(std::move(inputs)), targets_(std::move(targets)), weights_(std::move(weights)) {}
  InMemory(at::Tensor input, at::Tensor target)
      : inputs_{{"input", std::move(input)}}, targets_{{"target", std::move(target)}} {}
  // Makes a dataset from the result of held() of another one.
  explicit InMemory(const NamedTensors& held) {
    for (const auto& [name, tensor] : held) {
      if (name.starts_with(kInputs)) inputs_.emplace_back(name.substr(std::char_traits<char>::length(kInputs)), tensor);
      if (name.starts_with(kTargets)) {
        targets_.emplace_back(name.substr(std::char_traits<char>::length(kTargets)), tensor);
      }
      if (name == kWeights) weights_ = tensor;
    }
  }

  std::int64_t size() const override { return inputs_.front().second.size(0); }
  bool in_memory() const override { return true; }

  Batch gather(const at::Tensor& indices, std::int64_t) const override {
    Batch batch(rows_of(inputs_, indices), rows_of(targets_, indices));
    if (weights_.defined()) batch.weights = at::index_select(weights_, 0, indices);
    return batch;
  }

  at::Tensor weights() const override { return weights_; }

  // The only target, if it is one class per sample.
  at::Tensor classes() const override {
    if (targets_.size() != 1) return {};
    const at::Tensor& target = targets_.front().second;
    return target.scalar_type() == at::kLong && target.dim() == 1 ? target : at::Tensor();
  }

  config::Value facts() const override {
    const at::Tensor of = classes();
    if (!of.defined() || of.numel() == 0) return config::Value::object();
    return {{"num_classes", of.max().item<std::int64_t>() + 1}};
  }

  NamedTensors held() const override {
    NamedTensors all;
    for (const auto& [name, tensor] : inputs_) all.emplace_back(kInputs + name, tensor);
    for (const auto& [name, tensor] : targets_) all.emplace_back(kTargets + name, tensor);
    if (weights_.defined()) all.emplace_back(kWeights, weights_);
    return all;
  }

 private:
  static constexpr const char* kInputs = "inputs.";
  static constexpr const char* kTargets = "targets.";
  static constexpr const char* kWeights = "weights";

  static NamedTensors rows_of(const NamedTensors& tensors, const at::Tensor& indices) {
    NamedTensors rows;
    for (const auto& [name, tensor] : tensors) rows.emplace_back(name, at::index_select(tensor, 0, indices));
    return rows;
  }

  NamedTensors inputs_;
  NamedTensors targets_;
  at::Tensor weights_;
};

}  // namespace ddp::datasets
