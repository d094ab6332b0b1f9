#pragma once

#include "config/components.h"

namespace ddp::rank {

// Asks for every component that registered itself. The reply is one config::Components as JSON.
struct ComponentsRequest {
  static constexpr const char* kVerb = "components";

  void fields(config::Fields&) {}
};

}  // namespace ddp::rank
