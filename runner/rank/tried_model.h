#pragma once

#include <functional>

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/container/any.h>

#include "data/sets.h"
#include "datasets/dataset.h"
#include "rank/task.h"

namespace ddp::rank {

// A model that the probe tries on a few samples: it runs on the CPU, and each misfit of model, data and loss is a
// ddp::Error (usage) that names the key of the experiment file.
class TriedModel {
 public:
  // Both must outlive this object.
  TriedModel(const Task& task, torch::nn::AnyModule& model) : task_(task), model_(model) {}

  // Returns the model's output. Throws if it does not take the inputs.
  at::Tensor output_of(const NamedTensors& inputs) const;

  // Throws if the model has batch norms, and the last batch of a rank in an epoch would give them one value per
  // channel.
  void require_last_batch(const datasets::Batch& batch, std::int64_t train_samples) const;

  // Returns the loss of the batch with this output. Throws if the loss does not take both.
  at::Tensor loss_of(const at::Tensor& output, const datasets::Batch& batch) const;

  // Throws if DDP would wait in vain for the gradients of some parameters. A few samples, whose loss this is, may not
  // reach all parameters, so a whole batch decides.
  void require_gradients(const at::Tensor& loss, const std::function<datasets::Batch()>& whole_batch) const;

  // Throws if the loss does not take a target of the data with this output of the model for the batch, which has only
  // some of the targets: a class without an output, a label that is not from 0 to 1.
  void require_targets(const at::Tensor& output, const datasets::Batch& batch, const data::Sets& sets) const;

  // Throws if a model without an option for the number of tokens does not take all of them. The batch has only some
  // tokens, and a rare one would end the run later.
  void require_tokens(const data::Set& train, datasets::Batch batch) const;

  // Returns a warning if a model without an option for the number of tokens has outputs for more than the data have.
  std::string doubt_of_tokens(const at::Tensor& output, const data::Set& train) const;

 private:
  std::int64_t tokens_of(const data::Set& train) const;  // 0: the model has an option for them, or there are none
  at::Tensor call(const NamedTensors& inputs) const;

  const Task& task_;
  torch::nn::AnyModule& model_;
};

}  // namespace ddp::rank
