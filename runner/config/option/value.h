#pragma once

#include <array>

#include <nlohmann/json.hpp>

namespace ddp::config {

// A value of an experiment file without its place: bool, integer (int64), float (double), string, list or table, in the
// order of the file. Null means "not given".
using Value = nlohmann::ordered_json;

// The types of values in a file. `date` stands for TOML's dates and times, which no key takes.
enum class Type { boolean, integer, number, text, list, table, date };
constexpr std::array<const char*, 6> names_of(Type) {
  return {"boolean", "integer", "number", "text", "list", "table"};
}

}  // namespace ddp::config
