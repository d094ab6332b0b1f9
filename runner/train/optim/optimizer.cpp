#include "train/optim/optimizer.h"

#include <algorithm>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/util/accumulate.h>

#include "base/error.h"
#include "config/experiment.h"

namespace ddp::train {

namespace {

template <class TensorOf>
std::vector<at::Tensor> of_each(const std::vector<Optimizer::Slot*>& slots, const TensorOf& tensor_of) {
  std::vector<at::Tensor> list;
  list.reserve(slots.size());
  for (const Optimizer::Slot* slot : slots) list.push_back(tensor_of(*slot));
  return list;
}

}  // namespace

OptimizerRegistry& optimizers() {
  static OptimizerRegistry instance("optimizer", config::describe<config::LayerDecay>());
  return instance;
}

config::Option lr_option() {
  return {.name = "lr",
          .doc = "learning rate",
          .aliases = {"learning_rate", "base_lr", "init_lr"},
          .range = config::at_least(0)};
}

bool is_one_number(const std::string& what) { return what == "step" || what == "mu_product"; }

Optimizer::Optimizer(const NamedTensors& named, double lr) : lr_(lr) {
  for (const auto& [name, tensor] : named) {
    if (tensor.requires_grad()) {
      slots_.push_back({.name = name, .parameter = tensor, .state = {}});
    } else {
      frozen_.insert("state." + name);
    }
  }
  for (auto& slot : slots_) {
    const auto same = [&](const std::vector<Slot*>& group) {
      return group[0]->parameter.device() == slot.parameter.device() &&
             group[0]->parameter.scalar_type() == slot.parameter.scalar_type();
    };
    const auto group = std::find_if(alike_.begin(), alike_.end(), same);
    if (group == alike_.end()) {
      alike_.push_back({&slot});
    } else {
      group->push_back(&slot);
    }
  }
}

void Optimizer::step(double lr) {
  const at::NoGradGuard no_grad;
  for (const auto& group : alike_) {
    std::vector<Slot*> with_gradient;
    with_gradient.reserve(group.size());
    for (Slot* slot : group) {
      if (slot->parameter.grad().defined()) with_gradient.push_back(slot);
    }
    if (!with_gradient.empty()) update(with_gradient, lr);
  }
}

NamedTensors Optimizer::state() const {
  NamedTensors list;
  for (const auto& slot : slots_) {
    for (const auto& [what, tensor] : slot.state) list.emplace_back("state." + slot.name + "." + what, tensor);
  }
  return list;
}

std::int64_t Optimizer::bytes() const {
  std::int64_t bytes = 0;
  for (const Slot& slot : slots_) {
    for (const std::string& what : kept(slot)) {
      if (is_one_number(what)) continue;
      const auto sizes = sizes_of(what, slot);
      bytes += c10::multiply_integers(sizes) * static_cast<std::int64_t>(slot.parameter.element_size());
    }
  }
  return bytes;
}

c10::Device Optimizer::device_of(const std::string&, const Slot& slot) const { return slot.parameter.device(); }

std::vector<std::int64_t> Optimizer::sizes_of(const std::string& what, const Slot& slot) const {
  return is_one_number(what) ? std::vector<std::int64_t>() : slot.parameter.sizes().vec();
}

bool Optimizer::fits(const at::Tensor& saved, const std::string& what, const Slot& slot) const {
  const auto names = kept(slot);
  if (std::find(names.begin(), names.end(), what) == names.end()) return false;
  const at::ScalarType type = is_one_number(what) ? at::kFloat : slot.parameter.scalar_type();
  return saved.sizes() == sizes_of(what, slot) && saved.scalar_type() == type;
}

// State tensors get the memory layout of the parameter, because optimizer kernels process memory linearly.
at::Tensor Optimizer::placed(const at::Tensor& saved, const std::string& what, const Slot& slot) const {
  const c10::Device device = device_of(what, slot);
  if (saved.sizes() != slot.parameter.sizes() || is_one_number(what))
    return saved.to(device, /*non_blocking=*/false, /*copy=*/true);
  return at::empty_like(slot.parameter, slot.parameter.options().device(device).requires_grad(false)).copy_(saved);
}

void Optimizer::load(const NamedTensors& state) {
  constexpr const char* kWhere = "the checkpoint's optimizer.safetensors";
  for (const auto& [key, tensor] : state) {
    const std::size_t dot = key.rfind('.');
    const std::string owner = key.substr(0, dot);
    if (frozen_.count(owner) > 0) continue;
    const std::string what = dot == std::string::npos ? "" : key.substr(dot + 1);
    const auto slot =
        std::find_if(slots_.begin(), slots_.end(), [&](const Slot& s) { return "state." + s.name == owner; });
    if (slot == slots_.end() || !fits(tensor, what, *slot)) {
      throw training_error("has \"" + key + "\", which this optimizer does not keep for this model", kWhere,
                           "use the optimizer and model that it was saved with");
    }
    slot->state[what] = placed(tensor, what, *slot);
  }
  for (const auto& slot : slots_) {
    if (slot.state.empty() || slot.state.size() == kept(slot).size()) continue;
    throw training_error("lacks some of this optimizer's state of \"" + slot.name + "\"", kWhere,
                         "use the optimizer that it was saved with");
  }
}

std::vector<at::Tensor> Optimizer::parameters(const std::vector<Slot*>& slots) {
  return of_each(slots, [](const Slot& slot) { return slot.parameter; });
}

std::vector<at::Tensor> Optimizer::gradients(const std::vector<Slot*>& slots) {
  return of_each(slots, [](const Slot& slot) { return slot.parameter.grad(); });
}

std::vector<at::Tensor> Optimizer::states(const std::vector<Slot*>& slots, const std::string& what) {
  return of_each(slots, [&](const Slot& slot) { return slot.state.at(what); });
}

c10::Device LoopOptimizer::device_of(const std::string& what, const Slot& slot) const {
  return is_one_number(what) ? c10::Device(c10::kCPU) : slot.parameter.device();
}

void LoopOptimizer::start(Slot& slot) const {
  for (const std::string& what : kept(slot)) {
    const auto sizes = sizes_of(what, slot);
    slot.state[what] = is_one_number(what)               ? at::zeros({}, at::kFloat)
                       : slot.parameter.sizes() == sizes ? at::zeros_like(slot.parameter)
                                                         : at::zeros(sizes, slot.parameter.options());
  }
}

void LoopOptimizer::update(const std::vector<Slot*>& slots, double lr) {
  for (Slot* slot : slots) {
    if (slot->state.empty()) start(*slot);
    update_one(*slot, lr);
  }
}

}  // namespace ddp::train
