#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/registry.h"
#include "model/named_tensors.h"

namespace ddp::train {

// Changes parameters by their gradients: torch.optim's optimizers with one parameter group, bit for bit. Several groups
// are GroupedOptimizer's work.
class Optimizer {
 public:
  // One parameter and what the optimizer keeps for it, by the names of Python's optimizer state.
  struct Slot {
    std::string name;
    at::Tensor parameter;
    std::map<std::string, at::Tensor> state;
  };

  Optimizer(const NamedTensors& parameters, double lr);
  virtual ~Optimizer() = default;

  // Changes every parameter that has a gradient.
  void step(double lr);
  // The lr that schedulers start from.
  double lr() const { return lr_; }

  // How many tensors of a parameter's size it keeps for each parameter.
  int copies() const;

  // The state as a checkpoint keeps it: "state.<parameter>.<what>", as PyTorch's distributed checkpoints do.
  NamedTensors state() const;
  // Takes it back. The state of a parameter that is frozen now is dropped; one that was frozen then begins anew. Throws
  // ddp::Error (training) where it does not fit the parameters.
  void load(const NamedTensors& state);

 protected:
  // The names of what it keeps for a parameter that had a gradient; "step" is a count, others have its shape.
  virtual std::vector<std::string> kept() const = 0;
  // Where it keeps that.
  virtual c10::Device device_of(const std::string& what, const Slot& slot) const;
  // The slots given have gradients; they are of one device and dtype.
  virtual void update(const std::vector<Slot*>& slots, double lr) = 0;

  // The parameters with a gradient, for an optimizer whose state begins with it.
  std::vector<Slot>& slots() { return slots_; }

  static std::vector<at::Tensor> parameters(const std::vector<Slot*>& slots);
  static std::vector<at::Tensor> gradients(const std::vector<Slot*>& slots);
  static std::vector<at::Tensor> states(const std::vector<Slot*>& slots, const std::string& what);

 private:
  at::Tensor placed(const at::Tensor& saved, const std::string& what, const Slot& slot) const;

  std::vector<Slot> slots_;
  std::set<std::string> frozen_;           // names of the parameters without gradient
  std::vector<std::vector<Slot*>> alike_;  // by device and dtype, in the parameters' order
  double lr_;
};

using OptimizerRegistry = config::Registry<std::unique_ptr<Optimizer>, const NamedTensors&>;
OptimizerRegistry& optimizers();

}  // namespace ddp::train
