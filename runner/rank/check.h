#pragma once

#include "config/option/option.h"

namespace ddp::rank {

// The empty reply of a check. A mistake is reported as a refusal instead.
struct Checked {
  void fields(config::Fields&) {}
};

// Builds the model of an experiment without running it. Reads the model's file, if any, and refuses one that cannot be
// trained. The reply is one Checked.
struct CheckRequest {
  using Reply = Checked;
  static constexpr const char* kVerb = "check";

  void fields(config::Fields&) {}
};

}  // namespace ddp::rank
