#include "train/replay/comparison.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include "model/generators.h"

namespace ddp::train {
namespace {

at::Tensor copy_of(const at::Tensor& tensor) { return tensor.defined() ? tensor.detach().clone() : at::Tensor(); }

std::vector<at::Tensor> detached_copies(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> copies;
  for (const at::Tensor& tensor : tensors) copies.push_back(copy_of(tensor));
  return copies;
}

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes()) return false;
  const at::Tensor x = a.detach().resolve_conj().resolve_neg().contiguous();
  const at::Tensor y = b.detach().resolve_conj().resolve_neg().contiguous();
  return x.numel() == 0 || std::memcmp(x.const_data_ptr(), y.const_data_ptr(), x.nbytes()) == 0;
}

at::Tensor state_of_generator() { return at::detail::getDefaultCPUGenerator().get_state(); }

// The tensors that a replay may write, which it shares with the eager work.
class Kept {
 public:
  explicit Kept(std::vector<at::Tensor> tensors) : tensors_(std::move(tensors)), copies_(detached_copies(tensors_)) {}
  // Memory of a batch may be read-only: only what has changed is written.
  void restore() const {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (!same_bits(tensors_[i], copies_[i])) tensors_[i].detach().copy_(copies_[i]);
    }
  }

 private:
  std::vector<at::Tensor> tensors_;
  std::vector<at::Tensor> copies_;
};

}  // namespace

Comparison::Comparison(Player& player, const std::vector<at::Tensor>& batch, const NamedTensors& parameters,
                       const NamedTensors& buffers, std::vector<at::Tensor> sums)
    : parameters_(parameters),
      model_buffers_(buffers),
      writes_{.buffers = std::move(sums), .look = [this](const at::Tensor& written) { look(written); }} {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients, shared = batch;
  for (const auto& [name, parameter] : parameters) {
    gradients.push_back(parameter.grad());
    if (parameter.grad().defined()) shared.push_back(parameter.grad());
  }
  for (const auto& [name, buffer] : buffers) shared.push_back(buffer);
  const Kept kept(std::move(shared));
  const model::UntouchedGenerator untouched(at::detail::getDefaultCPUGenerator());
  replay(player, batch);
  kept.restore();
  for (std::size_t i = 0; i < gradients.size(); ++i) parameters[i].second.mutable_grad() = gradients[i];
}

void Comparison::replay(Player& player, const std::vector<at::Tensor>& batch) {
  player.fill_with_nan(true);
  try {
    outputs_ = detached_copies(player.forward(batch));
    if (!parameters_.empty()) {
      player.backward(
          {.complete = [](std::size_t, const at::Tensor&) {}, .start_sum = [](const at::Tensor&) { return [] {}; }});
    }
  } catch (const c10::Error& error) {
    failure_ = error.msg();
  }
  player.drop_results();
  player.fill_with_nan(false);
  for (const auto& [name, parameter] : parameters_) {
    const at::Tensor& gradient = parameter.grad();
    gradients_.push_back(copy_of(gradient));
    places_.push_back(gradient.defined() ? gradient.const_data_ptr() : nullptr);
  }
  right_.resize(gradients_.size());
  // Another rank may use these: their place in a bucket then gets its gradient.
  for (const std::size_t unused : player.unused()) right_[unused] = true;
  buffers_ = detached_copies(tensors_of(model_buffers_));
  generator_ = state_of_generator();
}

void Comparison::look(const at::Tensor& written) {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (places_[i] == written.const_data_ptr()) right_[i] = same_bits(written, gradients_[i]);
  }
}

// The sums over the ranks have replaced what backward wrote into the buffers.
bool Comparison::is_right(std::size_t parameter) const {
  const at::Tensor& gradient = parameters_[parameter].second.grad();
  const auto is_summed = [&](const at::Tensor& buffer) { return gradient.defined() && gradient.is_alias_of(buffer); };
  if (std::any_of(writes_.buffers.begin(), writes_.buffers.end(), is_summed)) return right_[parameter];
  return same_bits(gradient, gradients_[parameter]);
}

std::string Comparison::difference(const NamedTensors& outputs) const {
  if (!failure_.empty()) return "it fails: " + failure_;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!same_bits(outputs[i].second, outputs_[i])) return "the output \"" + outputs[i].first + "\"";
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!is_right(i)) return "the gradient of \"" + parameters_[i].first + "\"";
  }
  for (std::size_t i = 0; i < model_buffers_.size(); ++i) {
    const auto& [name, buffer] = model_buffers_[i];
    if (!same_bits(buffer, buffers_[i])) return "the buffer \"" + name + "\"";
  }
  if (!same_bits(generator_, state_of_generator())) return "the state of the random numbers";
  return "";
}

}  // namespace ddp::train
