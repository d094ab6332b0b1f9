#include "data/distributed_sampler.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randperm.h>

#include "config/length.h"

namespace ddp::data {

std::int64_t DistributedSampler::length(std::int64_t done) const {
  return config::samples_of_rank(std::max<std::int64_t>(0, size - done), world_size, drop_last);
}

at::Tensor DistributedSampler::indices(std::int64_t epoch, std::int64_t done) const {
  // Half the memory where that suffices: the same numbers, drawn in less time.
  const bool small = size <= std::numeric_limits<std::int32_t>::max();
  const auto options = at::TensorOptions().dtype(small ? at::kInt : at::kLong);
  at::Tensor order;
  if (shuffle) {
    order = at::randperm(size, at::detail::createCPUGenerator(static_cast<std::uint64_t>(seed + epoch)), options);
  } else {
    order = at::arange(size, options);
  }
  at::Tensor mine = at::empty({length(done)}, at::kLong);
  const auto take = [&](const auto* all) {
    std::int64_t* next = mine.mutable_data_ptr<std::int64_t>();
    // Position p of the padded order is order[p % size]: wrapping around as often as it takes.
    std::int64_t position = done + rank;
    for (std::int64_t left = mine.size(0); left > 0; --left, position += world_size) {
      if (position >= size) position %= size;
      *next++ = all[position];
    }
  };
  small ? take(order.const_data_ptr<std::int32_t>()) : take(order.const_data_ptr<std::int64_t>());
  return mine;
}

}  // namespace ddp::data
