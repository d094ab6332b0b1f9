#include "train/gradients.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <torch/csrc/autograd/variable.h>

namespace ddp::train {
namespace {

// Fewer numbers than this, a megabyte, do not justify another thread.
constexpr std::int64_t kNumbersOfTask = std::int64_t{1} << 18;

// A float32 is not finite if all bits of its exponent are set. Four vectors of 16 bytes a turn read as fast as the
// second-level cache gives them.
bool floats_are_finite(const float* numbers, std::int64_t count) {
  using Bits = std::uint32_t __attribute__((vector_size(16)));
  using Unaligned = std::uint32_t __attribute__((vector_size(16), aligned(4), may_alias));
  constexpr std::uint32_t kExponent = 0x7f800000;
  constexpr std::int64_t kNumbers = 4;  // of a vector
  Bits a = {};
  Bits b = {};
  Bits c = {};
  Bits d = {};
  std::int64_t i = 0;
  for (; i + 4 * kNumbers <= count; i += 4 * kNumbers) {
    const auto* const bits = reinterpret_cast<const Unaligned*>(numbers + i);
    a |= static_cast<Bits>((bits[0] & kExponent) == kExponent);
    b |= static_cast<Bits>((bits[1] & kExponent) == kExponent);
    c |= static_cast<Bits>((bits[2] & kExponent) == kExponent);
    d |= static_cast<Bits>((bits[3] & kExponent) == kExponent);
  }
  const Bits all = a | b | c | d;
  std::uint32_t any = all[0] | all[1] | all[2] | all[3];
  for (; i < count; ++i) any |= std::isfinite(numbers[i]) ? 0 : 1;
  return any == 0;
}

// Returns the largest absolute value, as float64: NaN if a number is NaN, else infinite if a number is.
at::Tensor largest_value(const at::Tensor& numbers) {
  return at::linalg_vector_norm(numbers, std::numeric_limits<double>::infinity(), /*dim=*/{}, /*keepdim=*/false,
                                at::kDouble);
}

}  // namespace

std::vector<at::Tensor> gradients_of(const NamedTensors& parameters) {
  std::vector<at::Tensor> gradients;
  gradients.reserve(parameters.size());
  for (const auto& [name, parameter] : parameters) {
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  }
  return gradients;
}

std::vector<std::vector<at::Tensor>> by_device_and_type(const std::vector<at::Tensor>& tensors) {
  std::vector<std::vector<at::Tensor>> groups;
  for (const at::Tensor& tensor : tensors) {
    const auto same = [&](const std::vector<at::Tensor>& group) {
      return group.front().device() == tensor.device() && group.front().scalar_type() == tensor.scalar_type();
    };
    const auto group = std::find_if(groups.begin(), groups.end(), same);
    if (group == groups.end()) {
      groups.push_back({tensor});
    } else {
      group->push_back(tensor);
    }
  }
  return groups;
}

bool all_finite(const at::Tensor& numbers) {
  if (!numbers.is_floating_point() || numbers.numel() == 0) return true;
  const at::NoGradGuard no_grad;
  const bool plain = numbers.device().is_cpu() && numbers.scalar_type() == at::kFloat &&
                     numbers.layout() == at::kStrided && numbers.is_non_overlapping_and_dense();
  if (!plain) return std::isfinite(largest_value(numbers).item<double>());
  const float* const from = numbers.const_data_ptr<float>();
  std::atomic<bool> finite{true};
  at::parallel_for(0, numbers.numel(), kNumbersOfTask, [&](std::int64_t begin, std::int64_t end) {
    if (!floats_are_finite(from + begin, end - begin)) finite.store(false, std::memory_order_relaxed);
  });
  return finite;
}

GradientWatch::GradientWatch(const NamedTensors& parameters, std::function<void(std::size_t)> found)
    : found_(std::move(found)) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor& parameter = parameters[i].second;
    if (!parameter.requires_grad()) continue;
    hooks_.emplace_back(parameter,
                        parameter.register_hook([this, i](const at::Tensor& gradient) { look(i, gradient); }));
  }
}

GradientWatch::~GradientWatch() {
  for (const auto& [parameter, hook] : hooks_) parameter.remove_hook(hook);
}

void GradientWatch::look(std::size_t parameter, const at::Tensor& gradient) {
  if (!gradient.device().is_cpu()) {
    const at::NoGradGuard no_grad;
    largest_.emplace_back(parameter, largest_value(gradient));
  } else if (!all_finite(gradient)) {
    note(parameter);
    found_(*first_);
  }
}

void GradientWatch::note(std::size_t parameter) { first_ = std::min(first_.value_or(parameter), parameter); }

std::optional<std::size_t> GradientWatch::take_first() {
  if (!largest_.empty()) {
    // A model may lie on several GPUs.
    const c10::Device device = largest_.front().second.device();
    std::vector<at::Tensor> values;
    for (const auto& [parameter, value] : largest_) values.push_back(value.to(device, /*non_blocking=*/true));
    const at::Tensor largest = at::stack(values).cpu();  // waits once for all
    for (std::size_t i = 0; i < largest_.size(); ++i) {
      if (!std::isfinite(largest.const_data_ptr<double>()[i])) note(largest_[i].first);
    }
    largest_.clear();
  }
  return std::exchange(first_, {});
}

}  // namespace ddp::train
