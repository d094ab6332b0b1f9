#include "data/distributed_sampler.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/MT19937RNGEngine.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/multinomial.h>
#include <ATen/ops/randperm.h>

#include "config/length.h"
#include "datasets/draws.h"

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
                           : !shuffle        ? at::arange(size)
                           : cuts.empty()    ? randperm(size, seed_now)
                                             : windowed_order(cuts, window, seed, epoch);
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

at::Tensor windowed_order(const std::vector<std::int64_t>& cuts, std::int64_t window, std::int64_t seed,
                          std::int64_t epoch) {
  const auto blocks = std::ssize(cuts) - 1;
  const at::Tensor order_of_blocks = randperm(blocks, static_cast<std::uint64_t>(seed + epoch)).to(at::kLong);
  const std::int64_t* next_block = order_of_blocks.const_data_ptr<std::int64_t>();
  const std::int64_t* const end = next_block + blocks;
  const at::Tensor order = at::empty({cuts.back()}, at::kLong);
  auto* out = order.mutable_data_ptr<std::int64_t>();
  std::vector<std::vector<std::int64_t>> open;  // the samples that are left of each block, the oldest first
  std::int64_t left = 0;
  for (std::int64_t position = 0; position < cuts.back(); ++position) {
    for (; std::ssize(open) < window && next_block != end; ++next_block) {
      const auto block = static_cast<std::size_t>(*next_block);
      std::vector<std::int64_t> samples(static_cast<std::size_t>(cuts[block + 1] - cuts[block]));
      std::iota(samples.begin(), samples.end(), cuts[block]);
      left += std::ssize(samples);
      if (!samples.empty()) open.push_back(std::move(samples));
    }
    auto drawn = static_cast<std::int64_t>(
        datasets::Draws(static_cast<std::uint64_t>(seed), epoch, position).below(static_cast<std::uint64_t>(left)));
    auto block = open.begin();
    for (; drawn >= std::ssize(*block); ++block) drawn -= std::ssize(*block);
    std::swap((*block)[static_cast<std::size_t>(drawn)], block->back());
    out[position] = block->back();
    block->pop_back();
    if (block->empty()) open.erase(block);
    --left;
  }
  return order;
}

}  // namespace ddp::data
