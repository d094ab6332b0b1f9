#pragma once

#include "config/value.h"

namespace ddp::config {

// The facts about a way to share work among ranks (`parallel`) that a plan needs.
struct Strategy {
  bool one_process = false;  // there is one rank, which talks to none
  bool all_devices = false;  // that rank has all devices of the pool, with a whole model on each
};

// Returns the facts that the traits of a dist::Parallel say.
inline Strategy strategy_of(const Value& traits) {
  return {.one_process = traits.value("ranks", "one") == "one", .all_devices = traits.value("devices", "") == "all"};
}

}  // namespace ddp::config
