#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/container/any.h>

#include "base/error.h"
#include "config/experiment.h"
#include "config/registry.h"
#include "dist/collectives.h"
#include "model/named_tensors.h"

namespace ddp::dist {

// The parts of a strategy on one rank.
struct ParallelParts {
  torch::nn::AnyModule module;  // built, on its devices
  Group group;                  // null: the strategy trains in one process
  std::vector<c10::Device> devices;
  config::Distributed options;
  int logical_ranks = 0;     // of all ranks; 0: the experiment has none
  bool syncs_norms = false;  // batch norms take their statistics from the batches of all ranks
};

// A strategy that divides the work of training among ranks and devices. It owns the model: forward, the synchronisation
// of gradients and buffers, loading and reading weights, and the state that a run needs to resume with the same bits.
//
// Each strategy is one source file in this folder, which registers itself. Its traits for the rest of the program:
//   {"ranks", "many"}    each device group of the pool is a rank with its own process, and the ranks have a group;
//                        "one" (the default): one process without a group
//   {"devices", "all"}   the one process uses every device of the pool, with a copy of the model on each
class Parallel {
 public:
  explicit Parallel(torch::nn::AnyModule module);
  virtual ~Parallel() = default;
  Parallel(const Parallel&) = delete;
  Parallel& operator=(const Parallel&) = delete;

  // Replaces the initial weights. Call before start(). Errors name the source `where`. Throws ddp::Error (training) if
  // the weights do not fit.
  virtual void load(const NamedTensors& weights, const std::string& where);
  // Prepares training and broadcasts rank 0's parameters and buffers. `buckets`: the buckets of the checkpoint that the
  // run resumes from; empty: make new ones. Collective. Throws ddp::Error (usage) if the strategy does not support the
  // model.
  virtual void start(const Buckets& buckets) = 0;

  // Moves the parameters into memory that all ranks share, so that an update by one rank is an update for all. Returns
  // false on every rank if that is not possible. `whole_gradients`: each rank needs the averages of all gradients;
  // otherwise it may get only those of its shares (share_of). Collective; call after start().
  virtual bool share_parameters(bool whole_gradients);

  // Begins a micro-batch of a training step, before forward() or a replay of it. Collective.
  virtual void begin_forward() {}
  // Computes the outputs for the inputs of a batch, in a training step.
  virtual NamedTensors forward(const std::vector<at::Tensor>& inputs) = 0;

  // DDP's no_sync(): during its lifetime, backward adds to this rank's gradients without communication.
  class NoSync {
   public:
    explicit NoSync(Parallel& parallel) : parallel_(parallel) { parallel_.sync_ = false; }
    ~NoSync() { parallel_.sync_ = true; }
    NoSync(const NoSync&) = delete;
    NoSync& operator=(const NoSync&) = delete;

   private:
    Parallel& parallel_;
  };

  // Adds gradients that were computed apart from those of the parameters, as backward adds its own. `gradients`: of
  // each parameter that needs one, in their order; undefined: it has none.
  virtual void add_gradients(const std::vector<at::Tensor>& gradients);

  // Keeps the gradients of a logical rank of this rank, which is not its last one, for the sum over all.
  virtual void keep_gradients();

  // Resets the gradients. Does not detach them in place, because they may be views into the buckets.
  void zero_grad();

  // The memory of the gradients that the ranks average, in the order of the averaging; empty: they average nothing.
  virtual std::vector<at::Tensor> gradient_buffers() { return {}; }
  // Starts to add up the ranks' values of such a buffer, as backward does. Returns a function that waits for the sum.
  virtual std::function<void()> start_sum(const at::Tensor& buffer);
  // The memory in which backward counts which parameters a step uses, where some may be unused; empty: nowhere.
  virtual std::vector<at::Tensor> counts_of_use() { return {}; }
  // Tells the other ranks which parameters have a gradient on this one, as backward does behind its sums where some may
  // be unused. Returns a function that waits, and then gives the average gradient to those that only other ranks use.
  virtual std::function<void()> share_use() {
    return [] {};
  }

  // Copies rank 0's buffers to every rank, before an evaluation. Returns this rank's own ones, which it puts back
  // afterwards; {}: ranks have no buffers of their own. Collective.
  virtual std::vector<at::Tensor> take_buffers_of_rank_0() { return {}; }

  // The bare model, for evaluation.
  torch::nn::AnyModule& module() { return module_; }
  // As Python's named_parameters(): each parameter once, under its first name, in the same order.
  const NamedTensors& parameters() const { return parameters_; }
  // As Python's state_dict(): a tied parameter under each of its names.
  const NamedTensors& parameters_by_all_names() const { return all_names_; }
  const NamedTensors& buffers() const { return buffers_; }

  // Returns the gradient buckets, as indices into the parameters that need a gradient; empty: no buckets. A resumed run
  // needs them: with three or more ranks, other buckets would sum in another order. Collective.
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

// A strategy has no options; DDP's options are in [distributed].
struct NoParallelOptions {
  void fields(config::Fields&) {}
};

using ParallelRegistry = config::Registry<std::unique_ptr<Parallel>, const ParallelParts&>;
ParallelRegistry& parallels();

// Tells whether the ranks of this strategy join a process group.
bool joins_group(const std::string& strategy);
// Tells whether the one process of this strategy has a copy of the model on each device.
bool copies_model(const std::string& strategy);

// The error for parameters on which the loss does not depend, by their names. DDP would wait for their gradients.
Error unused_parameters(Fault fault, const std::vector<std::string>& names);

}  // namespace ddp::dist
