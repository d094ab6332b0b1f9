#include "train/gradients.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/stack.h>
#include <torch/csrc/autograd/variable.h>

#include "model/numerics.h"
#include "model/recording.h"
#include "train/replay/recorder.h"

namespace ddp::train {
std::vector<at::Tensor> gradients_of(const NamedTensors& parameters) {
  std::vector<at::Tensor> gradients;
  gradients.reserve(parameters.size());
  for (const auto& [name, parameter] : parameters) {
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  }
  return gradients;
}

GradientWatch::GradientWatch(const NamedTensors& parameters, std::function<void(std::size_t)> found, bool at_end)
    : found_(std::move(found)) {
  if (at_end) {
    sums_of_ = parameters;
    return;
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor& parameter = parameters[i].second;
    if (!parameter.requires_grad()) continue;
    hooks_.emplace_back(parameter, parameter.register_hook([this, i](const at::Tensor& gradient) {
      Recorder::note_gradient(i, gradient);
      look(i, gradient);
    }));
  }
}

GradientWatch::~GradientWatch() {
  for (const auto& [parameter, hook] : hooks_) parameter.remove_hook(hook);
}

void GradientWatch::look(std::size_t parameter, const at::Tensor& gradient) {
  // No part of the step: where a gradient has no memory of its own, as the one of a sum, it reads a number.
  const model::Unrecorded unrecorded;
  if (!gradient.device().is_cpu()) {
    const at::NoGradGuard no_grad;
    at::Tensor largest = model::largest_value(gradient);
    const std::scoped_lock lock(looking_);
    largest_.emplace_back(parameter, std::move(largest));
  } else if (!model::all_finite(gradient)) {
    note(parameter);
    found_(*first_);
  }
}

void GradientWatch::note(std::size_t parameter) { first_ = std::min(first_.value_or(parameter), parameter); }

void GradientWatch::forget() {
  largest_.clear();
  first_.reset();
}

void GradientWatch::look_at_sums() {
  const at::NoGradGuard no_grad;
  std::vector<std::size_t> places;
  std::vector<at::Tensor> sums;
  for (std::size_t i = 0; i < sums_of_.size(); ++i) {
    const at::Tensor& sum = sums_of_[i].second.grad();
    if (!sum.defined() || sum.numel() == 0) continue;
    places.push_back(i);
    sums.push_back(sum);
  }
  if (sums.empty()) return;
  // One kernel, if all are on one device and of one type.
  const std::vector<at::Tensor> largest = at::_foreach_norm(sums, std::numeric_limits<double>::infinity());
  for (std::size_t i = 0; i < places.size(); ++i) largest_.emplace_back(places[i], largest[i]);
}

std::optional<std::size_t> GradientWatch::take_first() {
  if (!sums_of_.empty()) look_at_sums();
  if (!largest_.empty()) {
    // A model may lie on several GPUs.
    const c10::Device device = largest_.front().second.device();
    std::vector<at::Tensor> values;
    for (const auto& [parameter, value] : largest_) values.push_back(value.to(device, /*non_blocking=*/true));
    const at::Tensor largest = at::stack(values).cpu().to(at::kDouble);  // waits once for all
    for (std::size_t i = 0; i < largest_.size(); ++i) {
      if (!std::isfinite(largest.const_data_ptr<double>()[i])) note(largest_[i].first);
    }
    largest_.clear();
  }
  return std::exchange(first_, {});
}

}  // namespace ddp::train
