#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace ddp::data {

// Which samples a rank sees in an epoch, and in which order: torch.utils.data.DistributedSampler
// (torch/utils/data/distributed.py), index for index. LibTorch's own DistributedRandomSampler draws another
// order and ignores the seed.
struct DistributedSampler {
  std::int64_t size = 0;
  int rank = 0;
  int world_size = 1;
  bool shuffle = true;
  bool drop_last = false;  // what does not divide over the ranks is dropped instead of wrapped around
  std::int64_t seed = 0;

  // Samples a rank sees in an epoch, or in what is left of one of which `done` samples were seen by all ranks together:
  // the same number on every rank.
  std::int64_t length(std::int64_t done = 0) const;
  // int64 [length(done)], each in [0, size).
  at::Tensor indices(std::int64_t epoch, std::int64_t done = 0) const;
};

}  // namespace ddp::data
