#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/container/any.h>

#include "config/experiment.h"
#include "config/registry.h"
#include "dist/collectives.h"
#include "dist/parallel/buckets.h"
#include "model/named_tensors.h"

namespace ddp::dist {

// The parts of a strategy on one rank.
struct ParallelParts {
  torch::nn::AnyModule module;  // built, and on its devices
  Group group;                  // null: the strategy trains in one process
  std::vector<c10::Device> devices;
  config::Distributed options;
};

// A way to share the work of training among ranks and devices. It owns the model: its forward, the synchronisation of
// gradients and buffers, its weights in and out, and the state that a run needs to go on with the same bits.
//
// A strategy is one file in this folder, which registers itself. Traits tell the rest of the program about it:
//   {"ranks", "many"}    each device group of the pool is a rank, a process of its own, and the ranks have a group;
//                        "one" (the default): there is one process without a group
//   {"devices", "all"}   the one process uses every device of the pool, with a copy of the model on each
class Parallel {
 public:
  explicit Parallel(torch::nn::AnyModule module);
  virtual ~Parallel() = default;
  Parallel(const Parallel&) = delete;
  Parallel& operator=(const Parallel&) = delete;

  // Puts weights, which `where` names in errors, in place of the initial ones. To be called before start(). Throws
  // ddp::Error (training) where they do not fit.
  virtual void load(const NamedTensors& weights, const std::string& where);
  // Prepares training; rank 0's parameters and buffers reach every rank. `buckets`: those of the run that this one goes
  // on with; empty: new ones. Collective. Throws ddp::Error (usage) where the model does not suit the strategy.
  virtual void start(const Buckets& buckets) = 0;

  // Returns the output for the inputs of a batch, in a training step.
  virtual at::Tensor forward(const std::vector<at::Tensor>& inputs) = 0;

  // While one lives, backward adds to the gradients of this rank and sends nothing: DDP's no_sync().
  class NoSync {
   public:
    explicit NoSync(Parallel& parallel) : parallel_(parallel) { parallel_.sync_ = false; }
    ~NoSync() { parallel_.sync_ = true; }
    NoSync(const NoSync&) = delete;
    NoSync& operator=(const NoSync&) = delete;

   private:
    Parallel& parallel_;
  };

  // Drops the gradients. Not by detaching them in place: they may be views into the buckets.
  void zero_grad();

  // Rank 0's buffers go to every rank, before an evaluation. Collective.
  virtual void broadcast_buffers() {}

  // The bare model, for evaluation.
  torch::nn::AnyModule& module() { return module_; }
  // As in Python's named_parameters(): each once, under its first name, in their order.
  const NamedTensors& parameters() const { return parameters_; }
  // As in Python's state_dict(): of a tied parameter, each of its names.
  const NamedTensors& parameters_by_all_names() const { return all_names_; }
  const NamedTensors& buffers() const { return buffers_; }

  // The buckets in which gradients travel, by the places of parameters that need a gradient; empty: there are none. A
  // run that goes on needs them: three and more ranks would else sum in another order. Collective.
  virtual Buckets rebuilt_buckets() { return {}; }

 protected:
  bool synchronises() const { return sync_; }

 private:
  torch::nn::AnyModule module_;
  NamedTensors all_names_;
  NamedTensors parameters_;
  NamedTensors buffers_;
  bool sync_ = true;
};

// A strategy has no options: those of DDP stand in [distributed].
struct NoParallelOptions {
  void fields(config::Fields&) {}
};

using ParallelRegistry = config::Registry<std::unique_ptr<Parallel>, const ParallelParts&>;
ParallelRegistry& parallels();

// Do ranks of this strategy talk over a group?
bool joins_group(const std::string& strategy);
// Is there a copy of the model on each device of its one process?
bool copies_model(const std::string& strategy);

}  // namespace ddp::dist
