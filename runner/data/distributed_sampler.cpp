#include "data/distributed_sampler.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/MT19937RNGEngine.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/multinomial.h>
#include <ATen/ops/randperm.h>

#include "config/length.h"

namespace ddp::data {
namespace {

// From this size on, torch.randperm draws 64-bit numbers (aten/src/ATen/native/TensorFactories.cpp).
constexpr std::int64_t kRandpermDraws64Bits = std::numeric_limits<std::uint32_t>::max() / 20;

// torch.randperm(size), number for number, in a third of the time: the same draws without a 64-bit division. int32
// [size].
at::Tensor small_randperm(std::int64_t size, std::uint64_t seed) {
  const at::Tensor permutation = at::arange(size, at::TensorOptions().dtype(at::kInt));
  std::int32_t* numbers = permutation.mutable_data_ptr<std::int32_t>();
  at::mt19937 draw(seed);
  for (auto left = static_cast<std::uint32_t>(size); left > 1; --left, ++numbers) {
    std::swap(*numbers, numbers[draw() % left]);
  }
  return permutation;
}

at::Tensor randperm(std::int64_t size, std::uint64_t seed) {
  if (size < kRandpermDraws64Bits) return small_randperm(size, seed);
  return at::randperm(size, at::detail::createCPUGenerator(seed), at::TensorOptions().dtype(at::kLong));
}

at::Tensor drawn(const at::Tensor& weights, std::uint64_t seed) {
  return at::multinomial(weights, weights.size(0), /*replacement=*/true, at::detail::createCPUGenerator(seed));
}

}  // namespace

std::int64_t DistributedSampler::length(std::int64_t done) const {
  return config::samples_of_rank(std::max<std::int64_t>(0, size - done), world_size, drop_last);
}

at::Tensor DistributedSampler::indices(std::int64_t epoch, std::int64_t done) const {
  const auto seed_now = static_cast<std::uint64_t>(seed + epoch);
  const at::Tensor order = weights.defined() ? drawn(weights, seed_now)
                           : shuffle         ? randperm(size, seed_now)
                                             : at::arange(size);
  at::Tensor mine = at::empty({length(done)}, at::kLong);
  const auto take = [&](const auto* all) {
    std::int64_t* next = mine.mutable_data_ptr<std::int64_t>();
    // Position p of the padded order is order[p % size], which may wrap around several times.
    std::int64_t position = done + rank;
    for (std::int64_t left = mine.size(0); left > 0; --left, position += world_size) {
      if (position >= size) position %= size;
      *next++ = all[position];
    }
  };
  const bool narrow = order.scalar_type() == at::kInt;
  narrow ? take(order.const_data_ptr<std::int32_t>()) : take(order.const_data_ptr<std::int64_t>());
  return mine;
}

}  // namespace ddp::data
