#pragma once

#include <string>

#include "config/value.h"

namespace ddp::config {

// Writes a table as TOML: its tables become sections, with one key per line.
std::string to_toml(const Value& table);

}  // namespace ddp::config
