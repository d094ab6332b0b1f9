#pragma once

#include "config/components.h"

namespace ddp::rank {

// Lists every registered component. The reply is one config::Components as JSON.
struct ComponentsRequest {
  static constexpr const char* kVerb = "components";

  void fields(config::Fields&) {}
};

}  // namespace ddp::rank
