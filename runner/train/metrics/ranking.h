#pragma once

#include <cstdint>
#include <vector>

#include "train/metrics/statistics.h"

namespace ddp::train {

// A score, no less than 0, and whether its sample is a positive one, as a number: keys sort as scores do. The bits of
// such a double, without its sign, are in the order of its values. NaN sorts last.
std::uint64_t ranking_key(double score, bool positive);

// Counts the pairs of a positive and a negative sample, whose keys are given; ties are told exactly. Sorts the keys.
// Takes 8 more bytes a key while it works. (Mann and Whitney 1947, U.)
RankedPairs count_pairs(std::vector<std::uint64_t>& keys);

}  // namespace ddp::train
