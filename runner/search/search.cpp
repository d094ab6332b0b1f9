#include "search/search.h"

#include <random>

namespace ddp::search {

Methods& methods() {
  static Methods registry("method");
  return registry;
}

config::Point draw(const Space& space, std::int64_t seed, int trial) {
  // One generator for each trial: a trial's values do not depend on the number of trials. The engine is standardized;
  // the distributions of the standard library are not.
  std::seed_seq seeds{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                      static_cast<std::uint32_t>(trial)};
  std::mt19937_64 engine(seeds);
  config::Point point;
  for (const config::Parameter& parameter : space.parameters) {
    point.push_back(parameter.at(static_cast<double>(engine() >> 11) * 0x1.0p-53));
  }
  return point;
}

}  // namespace ddp::search
