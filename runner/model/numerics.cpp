#include "model/numerics.h"

#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>

#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <torch/nn/module.h>

#include "config/experiment.h"

namespace ddp::model {
namespace {

constexpr std::int64_t kImageDimensions = 4;

at::Tensor in_channels_last(const at::Tensor& tensor) {
  if (tensor.dim() != kImageDimensions) return tensor;
  return tensor.to(tensor.device(), tensor.scalar_type(), /*non_blocking=*/false, /*copy=*/false,
                   at::MemoryFormat::ChannelsLast);
}

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

}  // namespace

Numerics Numerics::of(const config::Experiment& experiment) {
  return {.precision = experiment.precision, .channels_last = experiment.channels_last};
}

std::vector<at::Tensor> Numerics::prepared(std::vector<at::Tensor> inputs) const {
  if (!channels_last) return inputs;
  for (at::Tensor& input : inputs) input = in_channels_last(input);
  return inputs;
}

void to_channels_last(torch::nn::Module& module) {
  const at::NoGradGuard no_grad;
  for (auto& item : module.named_parameters()) item.value().set_data(in_channels_last(item.value()));
  for (auto& item : module.named_buffers()) item.value().set_data(in_channels_last(item.value()));
}

Autocast::Autocast(const std::string& precision, c10::Device device, bool caches)
    : on_(precision != "fp32"), device_(device.type()) {
  if (!on_) return;
  outer_ = at::autocast::is_autocast_enabled(device_);
  outer_caches_ = at::autocast::is_autocast_cache_enabled();
  outer_type_ = at::autocast::get_autocast_dtype(device_);
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::set_autocast_dtype(device_, precision == "fp16" ? at::kHalf : at::kBFloat16);
  at::autocast::set_autocast_cache_enabled(caches);
  at::autocast::increment_nesting();
}

Autocast::~Autocast() {
  if (!on_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, outer_);
  at::autocast::set_autocast_dtype(device_, outer_type_);
  at::autocast::set_autocast_cache_enabled(outer_caches_);
}

CastsOfThread::CastsOfThread(c10::DeviceType device)
    : device_(device),
      on_(at::autocast::is_autocast_enabled(device)),
      type_(at::autocast::get_autocast_dtype(device)) {}

void CastsOfThread::set() const {
  at::autocast::set_autocast_enabled(device_, on_);
  at::autocast::set_autocast_dtype(device_, type_);
}

at::Tensor largest_value(const at::Tensor& numbers) {
  return at::linalg_vector_norm(numbers, std::numeric_limits<double>::infinity(), /*dim=*/{}, /*keepdim=*/false,
                                at::kDouble);
}

bool is_plain(const at::Tensor& tensor) {
  return tensor.device().is_cpu() && tensor.scalar_type() == at::kFloat && tensor.layout() == at::kStrided &&
         tensor.is_non_overlapping_and_dense();
}

bool all_finite(const at::Tensor& numbers) {
  if (!numbers.is_floating_point() || numbers.numel() == 0) return true;
  const at::NoGradGuard no_grad;
  if (!is_plain(numbers)) return std::isfinite(largest_value(numbers).item<double>());
  const float* const from = numbers.const_data_ptr<float>();
  std::atomic<bool> finite{true};
  at::parallel_for(0, numbers.numel(), kNumbersOfTask, [&](std::int64_t begin, std::int64_t end) {
    if (!floats_are_finite(from + begin, end - begin)) finite.store(false, std::memory_order_relaxed);
  });
  return finite;
}

}  // namespace ddp::model
