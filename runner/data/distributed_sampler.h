#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace ddp::data {

// Selects the samples of a rank in an epoch, in order: torch.utils.data.DistributedSampler
// (torch/utils/data/distributed.py), index for index. LibTorch's own DistributedRandomSampler draws another order and
// ignores the seed.
struct DistributedSampler {
  std::int64_t size = 0;
  int rank = 0;
  int world_size = 1;
  bool shuffle = true;
  bool drop_last = false;  // drop the remainder of the division over ranks instead of wrapping around
  std::int64_t seed = 0;
  // Of each sample, float64 [size]: samples are drawn with replacement, as torch.utils.data.WeightedRandomSampler draws
  // `size` of them with a generator of seed + epoch. Undefined: each comes once.
  at::Tensor weights = {};
  // Of a stream: block b has the samples cuts[b] to cuts[b + 1]. The order is then the result of windowed_order().
  // Empty: all samples are within reach.
  std::vector<std::int64_t> cuts = {};
  std::int64_t window = 1;

  // The number of samples of a rank in an epoch, or in its rest if all ranks together have seen `done` samples. The
  // result is the same on every rank.
  std::int64_t length(std::int64_t done = 0) const;
  // int64 [length(done)], each in [0, size).
  at::Tensor indices(std::int64_t epoch, std::int64_t done = 0) const;
};

// Returns an order of the samples of a stream: int64 [cuts.back()]. The blocks come in the order of torch.randperm from
// a generator with seed + epoch. Each sample is drawn from all that are left of the `window` oldest blocks with
// samples, with the random number of the seed, the epoch and its position alone, so that any rank and worker draws the
// same.
at::Tensor windowed_order(const std::vector<std::int64_t>& cuts, std::int64_t window, std::int64_t seed,
                          std::int64_t epoch);

}  // namespace ddp::data
