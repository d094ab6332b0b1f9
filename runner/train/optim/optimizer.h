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

// Updates parameters from their gradients, as torch.optim's optimizers with one parameter group, bit for bit.
// GroupedOptimizer handles several groups.
class Optimizer {
 public:
  // One parameter and its optimizer state, under the names of Python's optimizer state.
  struct Slot {
    std::string name;
    at::Tensor parameter;
    std::map<std::string, at::Tensor> state;
  };

  Optimizer(const NamedTensors& parameters, double lr);
  virtual ~Optimizer() = default;

  // Updates every parameter that has a gradient.
  void step(double lr);
  // The base learning rate of schedulers.
  double lr() const { return lr_; }

  // Returns the bytes of the state tensors, once every parameter has had a gradient; single numbers do not count.
  std::int64_t bytes() const;

  // Returns the state for a checkpoint, as "state.<parameter>.<what>", the keys of PyTorch's distributed checkpoints.
  NamedTensors state() const;
  // Loads the result of state(). Drops the state of a parameter that is frozen now; a parameter that was frozen at the
  // save starts without state. Throws ddp::Error (training) if the state does not fit the parameters.
  void load(const NamedTensors& state);

 protected:
  // The names of the state tensors of a parameter that had a gradient.
  virtual std::vector<std::string> kept(const Slot& slot) const = 0;
  // The shape of one of them: the parameter's, unless is_one_number().
  virtual std::vector<std::int64_t> sizes_of(const std::string& what, const Slot& slot) const;
  // The device of a state tensor.
  virtual c10::Device device_of(const std::string& what, const Slot& slot) const;
  // Updates slots that have gradients and share one device and dtype.
  virtual void update(const std::vector<Slot*>& slots, double lr) = 0;

  // The trained parameters, for an optimizer that creates its state in the constructor.
  std::vector<Slot>& slots() { return slots_; }

  static std::vector<at::Tensor> parameters(const std::vector<Slot*>& slots);
  static std::vector<at::Tensor> gradients(const std::vector<Slot*>& slots);
  static std::vector<at::Tensor> states(const std::vector<Slot*>& slots, const std::string& what);

 private:
  bool fits(const at::Tensor& saved, const std::string& what, const Slot& slot) const;
  at::Tensor placed(const at::Tensor& saved, const std::string& what, const Slot& slot) const;

  std::vector<Slot> slots_;
  std::set<std::string> frozen_;           // keys of the frozen parameters
  std::vector<std::vector<Slot*>> alike_;  // grouped by device and dtype, in the parameters' order
  double lr_;
};

// The trait of an optimizer that updates each number of a parameter independently of the others.
inline constexpr const char* kNumberByNumber = "number_by_number";

using OptimizerRegistry = config::Registry<std::unique_ptr<Optimizer>, const NamedTensors&>;
OptimizerRegistry& optimizers();

// An optimizer without a fused kernel in torch: it updates one parameter after the other, and keeps single numbers of
// its state on the CPU, as Python does.
class LoopOptimizer : public Optimizer {
 protected:
  using Optimizer::Optimizer;
  c10::Device device_of(const std::string& what, const Slot& slot) const override;
  // Creates the state of a parameter at its first gradient: zeros.
  virtual void start(Slot& slot) const;
  virtual void update_one(Slot& slot, double lr) const = 0;

 private:
  void update(const std::vector<Slot*>& slots, double lr) override;
};

// The option `lr`.
config::Option lr_option();

// Tells whether a state tensor is one number for its parameter: its count of steps, or nadam's product of momenta.
bool is_one_number(const std::string& what);

}  // namespace ddp::train
