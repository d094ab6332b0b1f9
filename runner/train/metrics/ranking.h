#pragma once

#include <cstdint>
#include <vector>

#include "train/metrics/statistics.h"

namespace ddp::train {

// Encodes a score >= 0 and whether its sample is positive as a number. Keys sort like scores, because the bits of a
// non-negative double, without the sign bit, have the order of its values. NaN sorts last.
std::uint64_t ranking_key(double score, bool positive);

// Sorts the keys. Needs 8 more bytes for each key during the call.
void sort_keys(std::vector<std::uint64_t>& keys);

// Counts the pairs of a positive and a negative sample (Mann and Whitney 1947, U) in sorted keys. Ties are exact.
RankedPairs count_pairs(const std::vector<std::uint64_t>& keys);

}  // namespace ddp::train
