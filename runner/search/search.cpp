#include "search/search.h"

#include <random>

namespace ddp::search {

Methods& methods() {
  static Methods registry("method");
  return registry;
}

config::Point draw(const Space& space, std::int64_t seed, int trial) {
  // A generator for each trial, so that the values of one do not depend on how many there are. The distributions of
  // the standard library differ from one to the next; the engine does not.
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
