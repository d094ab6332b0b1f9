#pragma once

#include "config/option/option.h"

namespace ddp::rank {

// The reply of a check is empty: a mistake is a refusal.
struct Checked {
  void fields(config::Fields&) {}
};

// Asks to build the model of an experiment and to run nothing of it: a file that it is read from is read, and refused
// where it cannot be trained. The reply is one Checked.
struct CheckRequest {
  using Reply = Checked;
  static constexpr const char* kVerb = "check";

  void fields(config::Fields&) {}
};

}  // namespace ddp::rank
