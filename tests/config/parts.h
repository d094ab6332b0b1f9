#pragma once

#include <string>
#include <vector>

#include "catch.h"

namespace ddp::config {

// Requires these parts of an answer, in this order.
inline void check_parts(const std::string& said, const std::vector<std::string>& parts) {
  std::size_t at = 0;
  for (const std::string& part : parts) {
    INFO(part << "\nin\n" << said);
    at = said.find(part, at);
    REQUIRE(at != std::string::npos);
  }
}

}  // namespace ddp::config
