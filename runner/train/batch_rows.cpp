#include "train/batch_rows.h"

#include <algorithm>

#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>

namespace ddp::train {
namespace {

// The rows one after the other, each preceded by its length.
std::vector<double> flattened(const BatchRows& rows) {
  std::vector<double> flat;
  for (const auto& row : rows) {
    flat.push_back(static_cast<double>(row.size()));
    flat.insert(flat.end(), row.begin(), row.end());
  }
  return flat;
}

BatchRows rows_in(const at::Tensor& tensor, std::int64_t length) {
  const double* next = tensor.const_data_ptr<double>();
  const double* const end = next + length;
  BatchRows rows;
  while (next < end) {
    const auto size = static_cast<std::ptrdiff_t>(*next++);
    rows.emplace_back(next, next + size);
    next += size;
  }
  return rows;
}

// Pads each rank's rows to the longest, because an all-gather needs the same shape on every rank.
std::vector<BatchRows> gathered(const dist::Group& group, const BatchRows& own) {
  const std::vector<double> flat = flattened(own);
  std::vector<std::int64_t> lengths;
  std::int64_t longest = 0;
  for (const auto& length : dist::all_gather(group, at::scalar_tensor(static_cast<double>(flat.size()), at::kDouble))) {
    lengths.push_back(static_cast<std::int64_t>(length.item<double>()));
    longest = std::max(longest, lengths.back());
  }
  const at::Tensor mine = at::zeros({longest}, at::kDouble);
  std::copy(flat.begin(), flat.end(), mine.mutable_data_ptr<double>());
  const auto all = dist::all_gather(group, mine);
  std::vector<BatchRows> of_ranks;
  for (std::size_t r = 0; r < all.size(); ++r) of_ranks.push_back(rows_in(all[r], lengths[r]));
  return of_ranks;
}

}  // namespace

BatchRows rows_of_all_ranks(const dist::Group& group, const BatchRows& own) {
  std::vector<BatchRows> of_ranks = gathered(group, own);
  BatchRows in_order;
  for (std::size_t batch = 0;; ++batch) {
    BatchRows& rows = of_ranks[batch % of_ranks.size()];
    const std::size_t place = batch / of_ranks.size();
    if (place == rows.size()) return in_order;
    in_order.push_back(std::move(rows[place]));
  }
}

}  // namespace ddp::train
