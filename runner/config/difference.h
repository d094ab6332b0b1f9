#pragma once

#include <optional>
#include <string>

#include "config/value.h"

namespace ddp::config {

// The first place where two values differ.
struct Difference {
  std::string key;  // "optimizer.lr"
  std::string first;
  std::string second;  // as JSON; "missing" where it is not there
};

std::optional<Difference> first_difference(const Value& first, const Value& second);

}  // namespace ddp::config
