#include "train/metrics/merge.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#pragma GCC push_options
#pragma GCC optimize("O3")

namespace ddp::train {
namespace {

// Digits of 11 bits, because their counts stay in the first-level cache. Three passes sort by the exponent and the
// first 22 bits of the mantissa, which leaves few keys of a usual distribution equal.
constexpr unsigned kDigitBits = 11;
constexpr std::size_t kDigits = 1U << kDigitBits;
constexpr unsigned kPasses = 3;
constexpr unsigned kUnsortedBits = 64 - kPasses * kDigitBits;
// Below this number of keys, a comparison sort is faster.
constexpr std::size_t kFew = 4096;

std::size_t digit(std::uint64_t key, unsigned pass) {
  return key >> (kUnsortedBits + pass * kDigitBits) & (kDigits - 1);
}

// Sorts each run of keys whose leading digits are equal.
void sort_runs(std::vector<std::uint64_t>& keys) {
  for (auto begin = keys.begin(); begin != keys.end();) {
    const std::uint64_t leading = *begin >> kUnsortedBits;
    auto end = begin + 1;
    while (end != keys.end() && *end >> kUnsortedBits == leading) ++end;
    if (end - begin > 1) std::sort(begin, end);
    begin = end;
  }
}

void sort_by_digits(std::vector<std::uint64_t>& keys) {
  std::vector<std::array<std::size_t, kDigits>> counts(kPasses);
  for (const std::uint64_t key : keys) {
    for (unsigned pass = 0; pass < kPasses; ++pass) ++counts[pass][digit(key, pass)];
  }
  std::vector<std::uint64_t> sorted(keys.size());
  for (unsigned pass = 0; pass < kPasses; ++pass) {
    auto& places = counts[pass];
    if (places[digit(keys[0], pass)] == keys.size()) continue;  // all keys have the same digit
    std::size_t next = 0;
    for (std::size_t& place : places) next += std::exchange(place, next);
    for (const std::uint64_t key : keys) sorted[places[digit(key, pass)]++] = key;
    keys.swap(sorted);
  }
  sort_runs(keys);
}

}  // namespace

std::uint64_t ranking_key(double score, bool positive) {
  // Adding 0.0 turns -0.0 into 0.0, so the sign bit is 0 and may be shifted out.
  return std::bit_cast<std::uint64_t>(score + 0.0) << 1 | static_cast<std::uint64_t>(positive);
}

void sort_keys(std::vector<std::uint64_t>& keys) {
  if (keys.size() < kFew) {
    std::sort(keys.begin(), keys.end());
  } else {
    sort_by_digits(keys);
  }
}

namespace {

double score_of(std::uint64_t key) { return std::bit_cast<double>(key >> 1); }

// average_precision_score of scikit-learn: from the highest score down, equal ones together.
double average_precision(const std::vector<std::uint64_t>& keys, std::int64_t positives) {
  double sum = 0;
  std::int64_t right = 0;
  for (std::size_t end = keys.size(); end > 0;) {
    const std::uint64_t score = keys[end - 1] >> 1;
    const std::int64_t before = right;
    for (; end > 0 && keys[end - 1] >> 1 == score; --end) right += keys[end - 1] & 1;
    const auto taken = static_cast<double>(keys.size() - end);
    sum += static_cast<double>(right - before) / static_cast<double>(positives) * static_cast<double>(right) / taken;
  }
  return sum;
}

}  // namespace

Ranking ranking_of(const std::vector<std::uint64_t>& keys) {
  Ranking ranking;
  for (std::size_t begin = 0; begin < keys.size();) {
    std::int64_t positives = 0;
    std::size_t end = begin;
    for (; end < keys.size() && keys[end] >> 1 == keys[begin] >> 1; ++end) positives += keys[end] & 1;
    const auto negatives = static_cast<std::int64_t>(end - begin) - positives;
    ranking.wins += positives * (2 * ranking.negatives + negatives);
    ranking.positives += positives;
    ranking.negatives += negatives;
    begin = end;
  }
  if (ranking.positives > 0) ranking.average_precision = average_precision(keys, ranking.positives);
  if (!keys.empty()) ranking.median = (score_of(keys[(keys.size() - 1) / 2]) + score_of(keys[keys.size() / 2])) / 2;
  return ranking;
}

void Statistics::add_score(std::size_t at, std::size_t classes, double score, bool positive) {
  if (keys_.size() < classes) keys_.resize(classes);
  keys_[at].push_back(ranking_key(score, positive));
}

}  // namespace ddp::train

#pragma GCC pop_options
