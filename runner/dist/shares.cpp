#include "dist/shares.h"

#include <algorithm>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

namespace ddp::dist {
namespace {

constexpr std::int64_t kMultiple = 64;  // whole vectors of 64 bytes of every dtype

// The numbers of the first ranks' shares; those of the last ranks may be fewer.
std::int64_t length_of(std::int64_t numbers, int ranks) {
  const std::int64_t unit = kMultiple * ranks;
  return (numbers + unit - 1) / unit * kMultiple;
}

}  // namespace

Range range_of(std::int64_t numbers, int rank, int ranks) {
  const std::int64_t length = length_of(numbers, ranks);
  const std::int64_t from = std::min(numbers, rank * length);
  return {.from = from, .count = std::min(length, numbers - from)};
}

at::Tensor in_memory_order(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.detach();
  return plain.is_non_overlapping_and_dense() ? plain.as_strided({plain.numel()}, {1}) : plain.reshape({-1});
}

at::Tensor laid_out_as(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.detach();
  return plain.is_non_overlapping_and_dense() ? at::empty_like(plain) : at::empty(plain.sizes(), plain.options());
}

at::Tensor share_of(const at::Tensor& tensor, const Group& group) {
  const Range own = range_of(tensor.numel(), rank_in(group), size_of(group));
  return in_memory_order(tensor).narrow(0, own.from, own.count);
}

void join_shares(const std::vector<at::Tensor>& mine, const std::vector<at::Tensor>& whole, const Group& group) {
  std::vector<PendingGather> pending;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    // An all-gather needs the same shape on every rank.
    at::Tensor sent = mine[i];
    const std::int64_t length = length_of(whole[i].numel(), size_of(group));
    if (sent.numel() < length) {
      sent = at::empty({length}, mine[i].options());
      sent.narrow(0, 0, mine[i].numel()).copy_(mine[i]);
    }
    pending.push_back(start_all_gather(group, sent));
  }
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const std::vector<at::Tensor> shares = pending[i]();
    const at::Tensor numbers = in_memory_order(whole[i]);
    for (int rank = 0; rank < size_of(group); ++rank) {
      const Range share = range_of(numbers.numel(), rank, size_of(group));
      numbers.narrow(0, share.from, share.count)
          .copy_(shares[static_cast<std::size_t>(rank)].narrow(0, 0, share.count));
    }
  }
}

}  // namespace ddp::dist
