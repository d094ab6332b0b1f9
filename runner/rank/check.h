#pragma once

#include <string>

#include "config/option/option.h"

namespace ddp::rank {

// The result of a check. A mistake of the model itself is reported as a refusal instead.
struct Checked {
  std::string misfit;  // the first of the given weights that does not fit, in words; "": all fit

  void fields(config::Fields& f) { f({.name = "misfit"}, misfit); }
};

// Builds the model of an experiment without running it. Reads the model's file, if any, and refuses one that cannot be
// trained, with what `freeze` leaves. The reply is one Checked.
struct CheckRequest {
  using Reply = Checked;
  static constexpr const char* kVerb = "check";

  std::string weights;  // a .safetensors file whose weights are compared with the model's; "": none

  void fields(config::Fields& f) { f({.name = "weights"}, weights); }
};

}  // namespace ddp::rank
