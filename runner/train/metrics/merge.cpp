#include "train/metrics/merge.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

namespace ddp::train {
namespace {

using Counts = std::vector<std::int64_t>;

// Gathers the numbers of every rank. All ranks have the same count.
std::vector<at::Tensor> numbers_of_ranks(const dist::Group& group, const Counts& mine) {
  const at::Tensor sent = at::empty({static_cast<std::int64_t>(mine.size())}, at::kLong);
  if (!mine.empty()) std::memcpy(sent.mutable_data_ptr(), mine.data(), mine.size() * sizeof(std::int64_t));
  return dist::all_gather(group, sent);
}

Counts sums_of(const dist::Group& group, const Counts& mine) {
  if (mine.empty()) return {};
  Counts sums(mine.size(), 0);
  for (const at::Tensor& of_rank : numbers_of_ranks(group, mine)) {
    const auto* const numbers = of_rank.const_data_ptr<std::int64_t>();
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += numbers[i];
  }
  return sums;
}

// The maximum of each number over all ranks. A rank without a batch does not know the number of classes.
Counts greatest_of(const dist::Group& group, const Counts& mine) {
  if (mine.empty()) return {};
  Counts greatest(mine.size(), 0);
  for (const at::Tensor& of_rank : numbers_of_ranks(group, mine)) {
    const auto* const numbers = of_rank.const_data_ptr<std::int64_t>();
    for (std::size_t i = 0; i < greatest.size(); ++i) greatest[i] = std::max(greatest[i], numbers[i]);
  }
  return greatest;
}

// The number of keys of a class on each rank; `of_ranks`: for each rank the sizes of all classes.
Counts sizes_of_class(const std::vector<at::Tensor>& of_ranks, std::size_t at) {
  Counts sizes;
  for (const at::Tensor& one : of_ranks) sizes.push_back(one.const_data_ptr<std::int64_t>()[at]);
  return sizes;
}

// Merges sorted runs of keys, which follow each other, into one. `ends`: the end of each run.
void merge_runs(std::vector<std::uint64_t>& keys, const Counts& ends) {
  for (std::size_t width = 1; width < ends.size(); width *= 2) {
    for (std::size_t first = 0; first + width < ends.size(); first += 2 * width) {
      const std::int64_t begin = first == 0 ? 0 : ends[first - 1];
      const std::int64_t middle = ends[first + width - 1];
      const std::int64_t end = ends[std::min(first + 2 * width, ends.size()) - 1];
      std::inplace_merge(keys.begin() + begin, keys.begin() + middle, keys.begin() + end);
    }
  }
}

// Returns the sorted keys of all ranks if this rank counts them (`wanted`), else none. `mine`: sorted. Frees the
// received tensors.
std::vector<std::uint64_t> keys_of_all(const dist::Group& group, const std::vector<std::uint64_t>& mine,
                                       const Counts& sizes, bool wanted) {
  const std::int64_t longest = std::max<std::int64_t>(1, *std::max_element(sizes.begin(), sizes.end()));
  const at::Tensor sent = at::zeros({longest}, at::kLong);
  if (!mine.empty()) std::memcpy(sent.mutable_data_ptr(), mine.data(), mine.size() * sizeof(std::uint64_t));
  const std::vector<at::Tensor> received = dist::all_gather(group, sent);
  std::vector<std::uint64_t> keys;
  if (!wanted) return keys;
  Counts ends(sizes.size());
  std::partial_sum(sizes.begin(), sizes.end(), ends.begin());
  keys.reserve(static_cast<std::size_t>(ends.back()));
  for (std::size_t r = 0; r < received.size(); ++r) {
    const auto* const begin = static_cast<const std::uint64_t*>(received[r].const_data_ptr());
    keys.insert(keys.end(), begin, begin + sizes[r]);
  }
  merge_runs(keys, ends);
  return keys;
}

}  // namespace

void Merge::left_out(std::vector<Statistics>& of_metrics) const {
  Counts any;
  for (const Statistics& one : of_metrics) any.push_back(one.left_out_ ? 1 : 0);
  any = greatest_of(group_, any);
  for (std::size_t i = 0; i < of_metrics.size(); ++i) {
    if (any[i] != 0) of_metrics[i] = Statistics();
  }
}

void Merge::counts(std::vector<Statistics>& of_metrics) const {
  Counts sizes;
  for (const Statistics& one : of_metrics) sizes.push_back(static_cast<std::int64_t>(one.counts_.size()));
  sizes = greatest_of(group_, sizes);
  Counts mine;
  for (std::size_t i = 0; i < of_metrics.size(); ++i) {
    of_metrics[i].counts_.resize(static_cast<std::size_t>(sizes[i]), 0);
    mine.insert(mine.end(), of_metrics[i].counts_.begin(), of_metrics[i].counts_.end());
  }
  const Counts sums = sums_of(group_, mine);
  auto next = sums.begin();
  for (Statistics& one : of_metrics) {
    std::copy_n(next, one.counts_.size(), one.counts_.begin());
    next += static_cast<std::ptrdiff_t>(one.counts_.size());
  }
}

void Merge::rankings(std::vector<Statistics>& of_metrics) const {
  Counts classes;
  for (const Statistics& one : of_metrics) classes.push_back(static_cast<std::int64_t>(one.keys_.size()));
  classes = greatest_of(group_, classes);
  for (std::size_t i = 0; i < of_metrics.size(); ++i) {
    if (classes[i] > 0) rankings(of_metrics[i], static_cast<std::size_t>(classes[i]));
  }
}

void Merge::rankings(Statistics& one, std::size_t classes) const {
  one.keys_.resize(classes);
  Counts mine_of;  // the number of scores differs between classes
  for (const auto& keys : one.keys_) mine_of.push_back(static_cast<std::int64_t>(keys.size()));
  const std::vector<at::Tensor> sizes = numbers_of_ranks(group_, mine_of);
  const std::size_t ranks = sizes.size();
  const auto rank = static_cast<std::size_t>(dist::rank_in(group_));
  constexpr std::size_t kNumbers = 5;
  Counts found(classes * kNumbers, 0);
  for (std::size_t at = 0; at < classes; ++at) {
    const bool mine = at % ranks == rank;
    sort_keys(one.keys_[at]);
    std::vector<std::uint64_t> keys =
        ranks == 1 ? std::move(one.keys_[at]) : keys_of_all(group_, one.keys_[at], sizes_of_class(sizes, at), mine);
    std::vector<std::uint64_t>().swap(one.keys_[at]);
    if (!mine) continue;
    const Ranking ranking = ranking_of(keys);
    const std::array<std::int64_t, kNumbers> numbers{ranking.positives, ranking.negatives, ranking.wins,
                                                     std::bit_cast<std::int64_t>(ranking.average_precision),
                                                     std::bit_cast<std::int64_t>(ranking.median)};
    std::copy(numbers.begin(), numbers.end(), found.begin() + static_cast<std::ptrdiff_t>(at * kNumbers));
  }
  found = sums_of(group_, found);  // one rank has a class, and the others have 0
  one.keys_.clear();
  for (std::size_t at = 0; at < found.size(); at += kNumbers) {
    one.rankings_.push_back({.positives = found[at],
                             .negatives = found[at + 1],
                             .wins = found[at + 2],
                             .average_precision = std::bit_cast<double>(found[at + 3]),
                             .median = std::bit_cast<double>(found[at + 4])});
  }
}

void Merge::take_parts(Statistics& one, std::vector<double>& row) {
  row.push_back(static_cast<double>(one.parts_.size()));
  for (const auto& part : one.parts_) {
    row.push_back(static_cast<double>(part.size()));
    row.insert(row.end(), part.begin(), part.end());
  }
  one.parts_.clear();
}

void Merge::give_parts(const double*& next, Statistics& one) {
  const auto parts = static_cast<std::size_t>(*next++);
  for (std::size_t i = 0; i < parts; ++i) {
    const auto size = static_cast<std::size_t>(*next++);
    one.parts_.emplace_back(next, next + size);
    next += size;
  }
}

void Merge::join_parts(const Metric& metric, Statistics& one) {
  auto& parts = one.parts_;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (!metric.join(parts[0], parts[i])) return;
  }
  if (parts.size() > 1) parts.resize(1);
}

}  // namespace ddp::train
