#pragma once

#include "config/option/option.h"

namespace ddp::rank {

// What a check has to say beside its refusal: nothing.
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
