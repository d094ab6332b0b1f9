#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "dist/collectives.h"

namespace ddp::dist {

// Ranks that all have the same tensors divide the numbers of each tensor among themselves, in memory order. A share
// begins at a multiple of 64 numbers, so that kernels process the same numbers in the same vectors as in one piece. The
// first rank's share is never empty.

// Returns the numbers of a tensor in memory order: a view, or a copy if the tensor has gaps.
at::Tensor in_memory_order(const at::Tensor& tensor);
// Returns a tensor of the same size, and of the same memory layout if `tensor` has no gaps.
at::Tensor laid_out_as(const at::Tensor& tensor);

// The numbers [from, from + count) of a list.
struct Range {
  std::int64_t from = 0;
  std::int64_t count = 0;
};
// Returns the share that a rank has of so many numbers.
Range range_of(std::int64_t numbers, int rank, int ranks);

// Returns this rank's share of the numbers of a tensor: a view [n], or a copy if the tensor has gaps.
at::Tensor share_of(const at::Tensor& tensor, const Group& group);

// Joins the shares of all ranks: for each tensor of `whole`, this rank's share `mine`. Writes the numbers to `whole`,
// which has no gaps. Collective.
void join_shares(const std::vector<at::Tensor>& mine, const std::vector<at::Tensor>& whole, const Group& group);

}  // namespace ddp::dist
