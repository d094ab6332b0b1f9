#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/container/any.h>

#include "config/experiment.h"
#include "dist/collectives.h"
#include "dist/parallel/buckets.h"

namespace ddp::dist {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// A model whose gradients are averaged over the ranks of a group while backward runs, by c10d::Reducer: what
// torch.nn.parallel.DistributedDataParallel is in Python (torch/nn/parallel/distributed.py), with its bits.
// Without a group (a single device) it is the bare model.
class DistributedModel {
 public:
  // Broadcasts rank 0's parameters and buffers to all ranks. `buckets`: those of the run that this one goes
  // on with; empty: as DDP assigns them. Collective.
  DistributedModel(torch::nn::AnyModule module, Group group, const config::Distributed& options, Buckets buckets);
  ~DistributedModel();

  // From now on, while training, each batch is split over these devices of this process: parallel = "data_parallel".
  // One device, or a group: nothing changes. Throws ddp::Error (usage) where the module cannot be copied.
  void split_batches_over(const std::vector<c10::Device>& devices);

  // The output for a batch. While training, also DDP's part of it: buffers are broadcast where the previous
  // forward was a synced one, and the reducer is armed unless a NoSync lives.
  at::Tensor forward(const at::Tensor& input);

  // While one lives, backward adds to the gradients of this rank and sends nothing: DDP's no_sync().
  class NoSync {
   public:
    explicit NoSync(DistributedModel& model) : model_(model) { model_.sync_ = false; }
    ~NoSync() { model_.sync_ = true; }
    NoSync(const NoSync&) = delete;
    NoSync& operator=(const NoSync&) = delete;

   private:
    DistributedModel& model_;
  };

  // Drops the gradients. Not by detaching them in place: they may be views into the buckets.
  void zero_grad();

  // Rank 0's buffers go to every rank. Collective, where broadcast_buffers is on.
  void broadcast_buffers();

  // The bare model, for evaluation and checkpoints.
  torch::nn::AnyModule& module() { return module_; }
  // As in Python's state_dict: names, and their order.
  const NamedTensors& parameters() const { return parameters_; }
  const NamedTensors& buffers() const { return buffers_; }

  // The buckets after the reducer rebuilt them in the order in which gradients come; before the first step, those it
  // was given. A run that goes on needs them: three and more ranks would else sum in another order. Collective.
  Buckets rebuilt_buckets();

 private:
  struct Engine;

  void prepare(const at::Tensor& output);

  torch::nn::AnyModule module_;
  Group group_;
  config::Distributed options_;
  NamedTensors parameters_;
  NamedTensors buffers_;
  std::unique_ptr<Engine> engine_;
  const Buckets given_buckets_;
  std::vector<c10::Device> replicas_on_;  // empty: the module alone
  bool sync_ = true;
  bool previous_forward_synced_ = true;  // Python's rule: initially yes
};

}  // namespace ddp::dist
