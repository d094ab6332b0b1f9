#include "train/gradients.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_clamp_max.h>
#include <ATen/ops/_foreach_clamp_min.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include "model/numerics.h"

#pragma GCC push_options
#pragma GCC optimize("O3")

namespace ddp::train {
namespace {

// Torch's kernel keeps eight sums on every CPU.
constexpr std::int64_t kLanes = 8;
// The remainder is summed in groups of this many rounded products.
constexpr std::int64_t kRounded = 4;
// Fewer numbers than this do not justify another thread (at::internal::GRAIN_SIZE).
constexpr std::int64_t kNumbersOfThread = 32768;

// The 2-norm, summed as torch's kernel for contiguous float32 does (ATen/native/cpu/ReduceOpsKernel.cpp): eight sums of
// rounded products, added in order; then the remainder in groups of four rounded products; then fused multiply-adds.
float norm_in_lanes(const float* numbers, std::int64_t count) {
  using Half = float __attribute__((vector_size(kLanes / 2 * sizeof(float))));
  Half low = {};
  Half high = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Half a;
    Half b;
    std::memcpy(&a, numbers + i, sizeof a);
    std::memcpy(&b, numbers + i + kLanes / 2, sizeof b);
    low += a * a;
    high += b * b;
  }
  float sum = low[0];
  for (int lane = 1; lane < kLanes / 2; ++lane) sum += low[lane];
  for (int lane = 0; lane < kLanes / 2; ++lane) sum += high[lane];
  const std::int64_t rounded = i + (count - i) / kRounded * kRounded;
  for (; i < rounded; ++i) sum += numbers[i] * numbers[i];
  for (; i < count; ++i) sum = std::fma(numbers[i], numbers[i], sum);
  return std::sqrt(sum);
}

// Tells whether torch sums in this order on this machine. Another build or CPU may not; norms_of() then calls torch's
// operator.
bool torch_sums_in_lanes() {
  constexpr std::int64_t kImage = 64;  // tested in channels_last
  for (const std::int64_t count :
       {std::int64_t{1}, std::int64_t{2}, std::int64_t{7}, std::int64_t{13}, kImage, std::int64_t{1003}}) {
    for (const double scale : {0.37, 91.7, 3e-3}) {
      at::Tensor numbers = at::arange(count, at::kFloat).mul(1.7).sin().mul(scale);
      if (count == kImage) numbers = numbers.view({2, 4, 4, 2}).contiguous(at::MemoryFormat::ChannelsLast);
      const auto expected = at::linalg_vector_norm(numbers).item<float>();
      if (norm_in_lanes(numbers.const_data_ptr<float>(), count) != expected) return false;
    }
  }
  return true;
}

bool are_plain(const std::vector<at::Tensor>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(), model::is_plain);
}

// Calls work(i) for each tensor, on several threads if they are large.
template <class Work>
void for_each_tensor(const std::vector<at::Tensor>& tensors, const Work& work) {
  std::int64_t numbers = 1;
  for (const at::Tensor& tensor : tensors) numbers += tensor.numel();
  const auto count = static_cast<std::int64_t>(tensors.size());
  at::parallel_for(0, count, std::max<std::int64_t>(1, count * kNumbersOfThread / numbers),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i) work(static_cast<std::size_t>(i));
                   });
}

at::Tensor plain_norms(const std::vector<at::Tensor>& tensors) {
  at::Tensor norms = at::zeros({static_cast<std::int64_t>(tensors.size())}, at::kFloat);
  float* const to = norms.mutable_data_ptr<float>();
  for_each_tensor(
      tensors, [&](std::size_t i) { to[i] = norm_in_lanes(tensors[i].const_data_ptr<float>(), tensors[i].numel()); });
  return norms;
}

void multiply(const std::vector<at::Tensor>& gradients, const at::Tensor& factor) {
  if (!are_plain(gradients) || factor.scalar_type() != at::kFloat) {
    for (const std::vector<at::Tensor>& group : by_device_and_type(gradients)) {
      at::_foreach_mul_(group, factor.to(group.front().device()));
    }
    return;
  }
  const auto by = factor.item<float>();
  if (by == 1) return;
  for_each_tensor(gradients, [&](std::size_t i) {
    float* const numbers = gradients[i].mutable_data_ptr<float>();
    const std::int64_t count = gradients[i].numel();
    for (std::int64_t k = 0; k < count; ++k) numbers[k] *= by;
  });
}

at::Tensor clip_norm(const std::vector<at::Tensor>& gradients, double most) {
  if (gradients.empty()) return at::zeros({});
  at::Tensor total = at::linalg_vector_norm(norms_of(gradients));
  // Python's max_norm / (total_norm + 1e-6)
  const at::Tensor factor = total.add(1e-6).reciprocal().mul(most);
  multiply(gradients, factor.clamp(/*min=*/std::nullopt, 1.0));
  return total;
}

void clip_values(const std::vector<at::Tensor>& gradients, double most) {
  if (!are_plain(gradients)) {
    for (const std::vector<at::Tensor>& group : by_device_and_type(gradients)) {
      at::_foreach_clamp_min_(group, -most);
      at::_foreach_clamp_max_(group, most);
    }
    return;
  }
  const auto high = static_cast<float>(most);
  for_each_tensor(gradients, [&](std::size_t i) {
    float* const numbers = gradients[i].mutable_data_ptr<float>();
    const std::int64_t count = gradients[i].numel();
    // NaN stays NaN.
    for (std::int64_t k = 0; k < count; ++k) {
      const float at_least = numbers[k] < -high ? -high : numbers[k];
      numbers[k] = at_least > high ? high : at_least;
    }
  });
}

}  // namespace

at::Tensor Clip::operator()(const std::vector<at::Tensor>& gradients) const {
  const at::NoGradGuard no_grad;
  if (value_ > 0) clip_values(gradients, value_);
  return norm_ > 0 ? clip_norm(gradients, norm_) : at::Tensor();
}

at::Tensor norms_of(const std::vector<at::Tensor>& tensors) {
  static const bool kInLanes = torch_sums_in_lanes();
  if (kInLanes && are_plain(tensors)) return plain_norms(tensors);
  std::vector<at::Tensor> norms;
  for (const std::vector<at::Tensor>& group : by_device_and_type(tensors)) {
    for (const at::Tensor& norm : at::_foreach_norm(group)) norms.push_back(norm.to(tensors.front().device()));
  }
  return at::stack(norms);
}

}  // namespace ddp::train

#pragma GCC pop_options
