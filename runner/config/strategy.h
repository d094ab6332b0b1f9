#pragma once

#include "config/value.h"

namespace ddp::config {

// The properties of a parallel strategy (`parallel`) that a plan needs.
struct Strategy {
  bool one_process = false;  // one rank, without communication
  bool all_devices = false;  // the one rank has all devices of the pool, with a whole model on each
};

// Reads these properties from the traits of a dist::Parallel.
inline Strategy strategy_of(const Value& traits) {
  return {.one_process = traits.value("ranks", "one") == "one", .all_devices = traits.value("devices", "") == "all"};
}

}  // namespace ddp::config
