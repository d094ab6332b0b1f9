#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/kernels.h"

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
  // Of a stream: block b has the samples cuts[b] to cuts[b + 1]. The order is then that of WindowedOrder. Empty: all
  // samples are within reach.
  std::vector<std::int64_t> cuts = {};
  std::int64_t window = 1;

  // The number of samples of a rank in an epoch, or in its rest if all ranks together have seen `done` samples. The
  // result is the same on every rank.
  std::int64_t length(std::int64_t done = 0) const;
  // int64 [length(done)], each in [0, size).
  at::Tensor indices(std::int64_t epoch, std::int64_t done = 0) const;
};

// An order of the samples of a stream. The blocks come in the order of torch.randperm from a generator with seed +
// epoch. Each sample is drawn from all that are left of the `window` oldest blocks with samples, with the random number
// of the seed, the epoch and its position alone, so that any rank and worker draws the same. Memory is that of the
// window.
class WindowedOrder {
 public:
  WindowedOrder(std::vector<std::int64_t> cuts, std::int64_t window, std::int64_t seed, std::int64_t epoch);
  // Returns the next sample; may be called cuts.back() times.
  std::int64_t next();

 private:
  const std::vector<std::int64_t> cuts_;
  const std::int64_t window_, seed_, epoch_;
  const at::Tensor blocks_;  // int64, in their order
  std::int64_t next_block_ = 0;
  std::int64_t position_ = 0;
  std::array<std::uint64_t, kernels::kPhilox> bits_{};  // of this position and those beside it
  std::int64_t left_ = 0;
  std::vector<std::vector<std::int64_t>> open_;  // the samples that are left of each block, the oldest first
};

// The samples of a rank in an epoch of a stream, as DistributedSampler::indices, without a list of all.
class StreamedIndices {
 public:
  StreamedIndices(const DistributedSampler& sampler, std::int64_t epoch, std::int64_t done);
  // Returns indices begin, begin + 1, … of the rank: int64 [count]. Calls go on where the last one ended, or behind it.
  at::Tensor take(std::int64_t begin, std::int64_t count);

 private:
  std::int64_t next();
  std::int64_t at_position(std::int64_t position);

  const std::int64_t size_, first_, step_;  // of the rank's positions in the order
  std::optional<WindowedOrder> order_;      // nothing: the order of the files
  std::int64_t next_ = 0;
  std::vector<std::int64_t> head_;  // the first samples, which pad the order
};

}  // namespace ddp::data
