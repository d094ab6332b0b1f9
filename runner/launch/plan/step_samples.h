#pragma once

#include <cstdint>
#include <string>

namespace ddp::launch {

// The shares of a step: each rank computes this many micro-batches.
struct StepShares {
  int ranks = 1;
  std::int64_t accumulate = 1;
};

// Returns what to do if a resumed run, whose steps take `samples`, cannot divide them over these shares: the values of
// accumulate or the numbers of ranks that keep them, and a batch_size that is near them.
std::string remedy_for_samples(std::int64_t samples, const StepShares& shares);

}  // namespace ddp::launch
