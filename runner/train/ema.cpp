#include "train/ema.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include "base/error.h"
#include "config/text/json_text.h"
#include "train/gradients.h"

namespace ddp::train {
namespace {

std::vector<at::Tensor> copies_of(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> copies;
  for (const at::Tensor& tensor : tensors) copies.push_back(tensor.detach().clone());
  return copies;
}

// Returns a tensor of the same size, and of the same memory layout if `tensor` has no gaps.
at::Tensor laid_out_as(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.detach();
  return plain.is_non_overlapping_and_dense() ? at::empty_like(plain) : at::empty(plain.sizes(), plain.options());
}

// Returns the numbers in memory order: a view, or a copy if the tensor has gaps.
at::Tensor in_memory_order(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.detach();
  return plain.is_non_overlapping_and_dense() ? plain.as_strided({plain.numel()}, {1}) : plain.reshape({-1});
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
      buffers_(tensors_of(model.buffers())),
      averages_(parameters_.size()) {
  const at::NoGradGuard no_grad;
  // The group reaches only the first parameter's device.
  const bool alone = dist::size_of(group_) == 1;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& parameter = parameters_[i];
    if (alone || !is_averaged(parameter) || parameter.device() != parameters_.front().device()) {
      add_whole(i);
      continue;
    }
    const auto same = std::find_if(shared_.begin(), shared_.end(), [&](const Shared& shared) {
      return parameters_[shared.members.front()].scalar_type() == parameter.scalar_type();
    });
    Shared& shared = same == shared_.end() ? shared_.emplace_back() : *same;
    shared.members.push_back(i);
    shared.numbers += parameter.numel();
  }
  for (Shared& shared : shared_) share_out(shared);
  copy_from(parameters_);
  if (every_ > 1) own_buffers_ = copies_of(buffers_);
}

void Ema::add_whole(std::size_t member) {
  averages_[member] = laid_out_as(parameters_[member]);
  pieces_.push_back({.average = in_memory_order(averages_[member]), .member = member, .from = 0});
}

void Ema::share_out(Shared& shared) {
  const std::int64_t ranks = dist::size_of(group_);
  const std::int64_t length = (shared.numbers + ranks - 1) / ranks;
  shared.share = at::zeros({length}, parameters_[shared.members.front()].detach().options());
  const std::int64_t begin = length * dist::rank_in(group_);
  const std::int64_t end = std::min(begin + length, shared.numbers);
  std::int64_t place = 0;
  for (const std::size_t member : shared.members) {
    const std::int64_t numbers = parameters_[member].numel();
    const std::int64_t from = std::max(begin, place);
    const std::int64_t to = std::min(end, place + numbers);
    if (from < to) {
      pieces_.push_back(
          {.average = shared.share.narrow(0, from - begin, to - from), .member = member, .from = from - place});
    }
    place += numbers;
  }
}

at::Tensor Ema::numbers_of(const Piece& piece, const std::vector<at::Tensor>& tensors) const {
  return in_memory_order(tensors[piece.member]).narrow(0, piece.from, piece.average.numel());
}

void Ema::copy_from(const std::vector<at::Tensor>& tensors) {
  for (const Piece& piece : pieces_) piece.average.copy_(numbers_of(piece, tensors));
}

void Ema::step_done(std::int64_t step) {
  if (step % every_ != 0) return;
  const at::NoGradGuard no_grad;
  for (const Shared& shared : shared_) {
    for (const std::size_t member : shared.members) averages_[member].reset();
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
  for (const Piece& piece : pieces_) {
    const at::Tensor numbers = numbers_of(piece, parameters_);
    if (is_averaged(numbers)) {
      averages.push_back(piece.average);
      now.push_back(numbers);
    } else {
      piece.average.copy_(numbers);
    }
  }
  // _foreach_lerp_ runs tensor by tensor on the CPU; on GPUs all tensors must be on one device.
  const auto groups = by_device_and_type(averages);
  const auto groups_now = by_device_and_type(now);
  for (std::size_t i = 0; i < groups.size(); ++i) at::_foreach_lerp_(groups[i], groups_now[i], 1 - decay_);
}

void Ema::gather() {
  const at::NoGradGuard no_grad;
  for (const Shared& shared : shared_) {
    if (!averages_[shared.members.front()].defined()) gather(shared);
  }
}

void Ema::gather(const Shared& shared) {
  const std::vector<at::Tensor> shares = dist::all_gather(group_, shared.share);
  const std::int64_t length = shared.share.numel();
  std::int64_t place = 0;
  for (const std::size_t member : shared.members) {
    averages_[member] = laid_out_as(parameters_[member]);
    const at::Tensor to = in_memory_order(averages_[member]);
    for (std::int64_t done = 0; done < to.numel();) {
      const std::int64_t from = (place + done) % length;
      const std::int64_t numbers = std::min(to.numel() - done, length - from);
      const at::Tensor& share = shares[static_cast<std::size_t>((place + done) / length)];
      to.narrow(0, done, numbers).copy_(share.narrow(0, from, numbers));
      done += numbers;
    }
    place += to.numel();
  }
}

NamedTensors Ema::weights() const {
  std::unordered_map<const void*, at::Tensor> averages;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    averages[parameters_[i].unsafeGetTensorImpl()] = averages_[i].defined() ? averages_[i] : parameters_[i].detach();
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
    saved.push_back(laid_out_as(parameter).copy_(fitting(by_name, name, parameter, where)));
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
  for (std::size_t i = 0; i < ema_->parameters_.size(); ++i) exchange(ema_->parameters_[i], ema_->averages_[i]);
  for (std::size_t i = 0; i < ema_->own_buffers_.size(); ++i) exchange(ema_->buffers_[i], ema_->own_buffers_[i]);
}

}  // namespace ddp::train
