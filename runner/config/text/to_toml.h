#pragma once

#include <string>

#include "config/value.h"

namespace ddp::config {

// A table as TOML: its tables become sections, what is in those stands on a line each.
std::string to_toml(const Value& table);

}  // namespace ddp::config
