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
  if (!cuts.empty()) return StreamedIndices(*this, epoch, done).take(0, length(done));
  const auto seed_now = static_cast<std::uint64_t>(seed + epoch);
  const at::Tensor order = weights.defined() ? drawn(weights, seed_now)
                           : !shuffle        ? at::arange(size)
                                             : randperm(size, seed_now);
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

WindowedOrder::WindowedOrder(std::vector<std::int64_t> cuts, std::int64_t window, std::int64_t seed, std::int64_t epoch)
    : cuts_(std::move(cuts)),
      window_(window),
      seed_(seed),
      epoch_(epoch),
      blocks_(randperm(std::ssize(cuts_) - 1, static_cast<std::uint64_t>(seed + epoch)).to(at::kLong)) {}

std::int64_t WindowedOrder::next() {
  for (; std::ssize(open_) < window_ && next_block_ < blocks_.numel(); ++next_block_) {
    const auto block = static_cast<std::size_t>(blocks_.const_data_ptr<std::int64_t>()[next_block_]);
    std::vector<std::int64_t> samples(static_cast<std::size_t>(cuts_[block + 1] - cuts_[block]));
    std::iota(samples.begin(), samples.end(), cuts_[block]);
    left_ += std::ssize(samples);
    if (!samples.empty()) open_.push_back(std::move(samples));
  }
  const auto seed = static_cast<std::uint64_t>(seed_), left = static_cast<std::uint64_t>(left_--);
  const auto at = static_cast<std::uint64_t>(position_++);
  // A rank draws the samples of all ranks, and a resume those before its position. Vectors draw for many positions.
  if (at % kernels::kPhilox == 0) kernels::philox(seed, static_cast<std::uint64_t>(epoch_), at, bits_.data());
  const std::uint64_t bits = bits_[at % kernels::kPhilox];
  // Draws::below() draws again only after bits below 2^64 mod left, which is less than left.
  auto drawn = static_cast<std::int64_t>(
      bits >= left ? bits % left : datasets::Draws(seed, epoch_, static_cast<std::int64_t>(at)).below(left));
  auto block = open_.begin();
  for (; drawn >= std::ssize(*block); ++block) drawn -= std::ssize(*block);
  std::swap((*block)[static_cast<std::size_t>(drawn)], block->back());
  const std::int64_t sample = block->back();
  block->pop_back();
  if (block->empty()) open_.erase(block);
  return sample;
}

StreamedIndices::StreamedIndices(const DistributedSampler& s, std::int64_t epoch, std::int64_t done)
    : size_(s.size), first_(done + s.rank), step_(s.world_size) {
  if (s.shuffle) order_.emplace(s.cuts, s.window, s.seed, epoch);
  while (std::ssize(head_) < std::min<std::int64_t>(size_, step_)) head_.push_back(next());
}

std::int64_t StreamedIndices::next() {
  const std::int64_t position = next_++;
  return order_ ? order_->next() : position;
}

// Position p of the padded order is that of p % size.
std::int64_t StreamedIndices::at_position(std::int64_t position) {
  position %= size_;
  if (position < std::ssize(head_)) return head_[static_cast<std::size_t>(position)];
  while (next_ < position) next();
  return next();
}

at::Tensor StreamedIndices::take(std::int64_t begin, std::int64_t count) {
  at::Tensor mine = at::empty({count}, at::kLong);
  auto* out = mine.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = begin; i < begin + count; ++i) *out++ = at_position(first_ + i * step_);
  return mine;
}

}  // namespace ddp::data
