#pragma once

#include <string>
#include <string_view>

#include "config/value.h"

namespace ddp::config {

// Writes a table as TOML: its tables become sections, with one key per line.
std::string to_toml(const Value& table);

// May a key with this name be written without quotes?
bool is_bare_key(std::string_view name);

// Writes a table as an inline table of TOML: { type = "Flatten" }.
std::string inline_toml(const Value& table);

}  // namespace ddp::config
