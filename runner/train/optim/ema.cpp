#include "train/optim/ema.h"

#include <unordered_map>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/empty_like.h>

#include "base/error.h"
#include "config/text/json_text.h"
#include "dist/shares.h"

namespace ddp::train {
namespace {

std::vector<at::Tensor> copies_of(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> copies;
  for (const at::Tensor& tensor : tensors) copies.push_back(tensor.detach().clone());
  return copies;
}

bool is_averaged(const at::Tensor& parameter) { return parameter.is_floating_point(); }

const at::Tensor& fitting(const std::unordered_map<std::string, at::Tensor>& weights, const std::string& name,
                          const at::Tensor& own, const std::string& where) {
  const auto found = weights.find(name);
  if (found == weights.end()) throw training_error("has no average of \"" + name + "\" of the model", where);
  if (found->second.sizes() != own.sizes() || found->second.scalar_type() != own.scalar_type()) {
    throw training_error("the average of \"" + name + "\" is " +
                             c10::str(found->second.scalar_type(), found->second.sizes()) + ", in the model it is " +
                             c10::str(own.scalar_type(), own.sizes()),
                         where);
  }
  return found->second;
}

}  // namespace

Ema::Ema(const config::Ema& options, dist::Parallel& model, dist::Group group)
    : decay_(options.decay.value_or(config::Ema::kDecay)),
      every_(options.every.value_or(config::Ema::kEvery)),
      model_(model),
      group_(std::move(group)),
      parameters_(tensors_of(model.parameters())),
      buffers_(tensors_of(model.buffers())) {
  const at::NoGradGuard no_grad;
  for (const at::Tensor& parameter : parameters_) {
    // The group reaches only the first parameter's device.
    const bool shared =
        dist::size_of(group_) > 1 && is_averaged(parameter) && parameter.device() == parameters_.front().device();
    Average average{.whole = {}, .own = {}, .shared = shared};
    if (shared) {
      average.own = at::empty_like(dist::share_of(parameter, group_));
    } else {
      average.whole = dist::laid_out_as(parameter);
      average.own = dist::in_memory_order(average.whole);
    }
    averages_.push_back(std::move(average));
  }
  copy_from(parameters_);
  if (every_ > 1) own_buffers_ = copies_of(buffers_);
}

at::Tensor Ema::own_numbers(const Average& average, const at::Tensor& tensor) const {
  return average.shared ? dist::share_of(tensor, group_) : dist::in_memory_order(tensor);
}

void Ema::copy_from(const std::vector<at::Tensor>& tensors) {
  for (std::size_t i = 0; i < averages_.size(); ++i) averages_[i].own.copy_(own_numbers(averages_[i], tensors[i]));
}

void Ema::step_done(std::int64_t step) {
  if (step % every_ != 0) return;
  const at::NoGradGuard no_grad;
  for (Average& average : averages_) {
    if (average.shared) average.whole.reset();
  }
  if (updates_ == 0) {
    copy_from(parameters_);
  } else {
    update_averages();
  }
  for (std::size_t i = 0; i < own_buffers_.size(); ++i) own_buffers_[i].copy_(buffers_[i]);
  ++updates_;
}

void Ema::update_averages() {
  std::vector<at::Tensor> averages;
  std::vector<at::Tensor> now;
  for (std::size_t i = 0; i < averages_.size(); ++i) {
    const at::Tensor& own = averages_[i].own;
    const at::Tensor numbers = own_numbers(averages_[i], parameters_[i]);
    if (is_averaged(numbers)) {
      averages.push_back(own);
      now.push_back(numbers);
    } else {
      own.copy_(numbers);
    }
  }
  // _foreach_lerp_ runs tensor by tensor on the CPU; on GPUs all tensors must be on one device.
  const auto groups = by_device_and_type(averages);
  const auto groups_now = by_device_and_type(now);
  for (std::size_t i = 0; i < groups.size(); ++i) at::_foreach_lerp_(groups[i], groups_now[i], 1 - decay_);
}

void Ema::gather() {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> shares;
  std::vector<at::Tensor> whole;
  for (std::size_t i = 0; i < averages_.size(); ++i) {
    Average& average = averages_[i];
    if (average.whole.defined()) continue;
    average.whole = dist::laid_out_as(parameters_[i]);
    shares.push_back(average.own);
    whole.push_back(average.whole);
  }
  dist::join_shares(shares, whole, group_);
}

NamedTensors Ema::weights() const {
  std::unordered_map<const void*, at::Tensor> averages;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& average = averages_[i].whole;
    averages[parameters_[i].unsafeGetTensorImpl()] = average.defined() ? average : parameters_[i].detach();
  }
  NamedTensors weights;
  for (const auto& [name, parameter] : model_.parameters_by_all_names()) {
    weights.emplace_back(name, averages.at(parameter.unsafeGetTensorImpl()));
  }
  for (const auto& [name, buffer] : model_.buffers()) {
    const std::size_t i = weights.size() - model_.parameters_by_all_names().size();
    weights.emplace_back(name, own_buffers_.empty() ? buffer : own_buffers_[i]);
  }
  return weights;
}

NamedTensors Ema::own_buffers() const {
  NamedTensors named;
  for (std::size_t i = 0; i < own_buffers_.size(); ++i) {
    named.emplace_back(model_.buffers()[i].first, own_buffers_[i]);
  }
  return named;
}

void Ema::load(const NamedTensors& weights, const std::string& where) {
  const at::NoGradGuard no_grad;
  const std::unordered_map<std::string, at::Tensor> by_name(weights.begin(), weights.end());
  std::vector<at::Tensor> saved;
  for (const auto& [name, parameter] : model_.parameters()) {
    saved.push_back(dist::laid_out_as(parameter).copy_(fitting(by_name, name, parameter, where)));
  }
  copy_from(saved);
  for (std::size_t i = 0; i < own_buffers_.size(); ++i) {
    const auto& [name, buffer] = model_.buffers()[i];
    own_buffers_[i].copy_(fitting(by_name, name, buffer, where));
  }
}

config::Value Ema::state() const { return {{"updates", updates_}}; }

void Ema::restore(const config::Value& state) { updates_ = config::count_member(state, "updates"); }

Ema::InPlace::InPlace(Ema* ema) : ema_(ema) {
  if (ema_ == nullptr) return;
  ema_->gather();
  swap();
}

Ema::InPlace::~InPlace() {
  if (ema_ != nullptr) swap();
}

// Tensors exchange their memory, so nothing is copied.
void Ema::InPlace::swap() {
  const at::NoGradGuard no_grad;
  const auto exchange = [](const at::Tensor& own, at::Tensor& other) {
    const at::Tensor before = own.detach();
    own.set_data(other);
    other = before;
  };
  for (std::size_t i = 0; i < ema_->parameters_.size(); ++i) exchange(ema_->parameters_[i], ema_->averages_[i].whole);
  for (std::size_t i = 0; i < ema_->own_buffers_.size(); ++i) exchange(ema_->buffers_[i], ema_->own_buffers_[i]);
}

}  // namespace ddp::train
