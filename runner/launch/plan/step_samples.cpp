#include "launch/plan/step_samples.h"

#include <algorithm>

namespace ddp::launch {
namespace {

// Returns the greatest divisor that is below `limit`; 0 if there is none.
std::int64_t divisor_below(std::int64_t number, std::int64_t limit) {
  std::int64_t divisor = std::min(number, limit - 1);
  while (divisor > 0 && number % divisor != 0) --divisor;
  return divisor;
}

// Returns the smallest divisor that is above `limit`; 0 if there is none.
std::int64_t divisor_above(std::int64_t number, std::int64_t limit) {
  for (std::int64_t divisor = limit + 1; divisor <= number; ++divisor) {
    if (number % divisor == 0) return divisor;
  }
  return 0;
}

// "2 or 4", "4" or ""
std::string near_divisors(std::int64_t number, std::int64_t wrong) {
  const std::int64_t below = divisor_below(number, wrong);
  const std::int64_t above = divisor_above(number, wrong);
  const std::string first = below > 0 ? std::to_string(below) : "";
  return above == 0 ? first : first + (first.empty() ? "" : " or ") + std::to_string(above);
}

}  // namespace

std::string remedy_for_samples(std::int64_t samples, const StepShares& shares) {
  if (samples % shares.ranks == 0) {
    return "set accumulate to " + near_divisors(samples / shares.ranks, shares.accumulate);
  }
  const std::int64_t parts = shares.ranks * shares.accumulate;
  const std::int64_t batch = std::max<std::int64_t>(1, (samples + parts / 2) / parts);
  const std::string other_step = "at an epoch's end, use --set batch_size=" + std::to_string(batch) +
                                 ": a step then takes " + std::to_string(batch * parts) + " samples";
  if (samples % shares.accumulate != 0) return other_step;
  const std::string ranks = near_divisors(samples / shares.accumulate, shares.ranks);
  return "use " + ranks + (ranks == "1" ? " rank" : " ranks") + "; or " + other_step;
}

}  // namespace ddp::launch
