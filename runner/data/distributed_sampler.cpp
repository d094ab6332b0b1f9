#include "data/distributed_sampler.h"

#include <algorithm>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/randperm.h>

#include "config/length.h"

namespace ddp::data {

std::int64_t DistributedSampler::length(std::int64_t done) const {
  return config::samples_of_rank(std::max<std::int64_t>(0, size - done), world_size, drop_last);
}

at::Tensor DistributedSampler::indices(std::int64_t epoch, std::int64_t done) const {
  const auto options = at::TensorOptions().dtype(at::kLong);
  at::Tensor order;
  if (shuffle) {
    order = at::randperm(size, at::detail::createCPUGenerator(static_cast<std::uint64_t>(seed + epoch)), options);
  } else {
    order = at::arange(size, options);
  }
  // Position p of the padded order is order[p % size]: wrapping around as often as it takes.
  const at::Tensor positions =
      at::arange(done + rank, done + length(done) * world_size, world_size, options).remainder(size);
  return order.index_select(0, positions);
}

}  // namespace ddp::data
