#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "config/option/value.h"

namespace ddp::config {

// JSON from a file or from another machine. All of these functions throw std::runtime_error that says what is wrong;
// the caller adds where.

// Parses JSON in memory and time proportional to its length. Nesting is at most 32 deep, and no object has a key twice.
nlohmann::json parse_json(std::string_view text);
// The same, in the file's order. No object has more than 1000 keys, because each lookup searches all of them.
Value parse_value(std::string_view text);

// Returns a number for JSON; NaN and infinity, which JSON does not have, become null.
Value number_or_null(double number);

// Returns the member of an object under a key, of the named type.
const nlohmann::json& member(const nlohmann::json& object, const std::string& key);
std::string text_member(const nlohmann::json& object, const std::string& key);
double number_member(const nlohmann::json& object, const std::string& key);
// A whole number from 0 to `most`.
std::int64_t count_member(const nlohmann::json& object, const std::string& key, std::int64_t most = INT64_MAX);

// Returns the value as a whole number from 0 to `most`; 0.5 and -1 are errors.
std::int64_t as_count(const nlohmann::json& value, std::int64_t most = INT64_MAX);
std::int64_t as_count(const Value& value, std::int64_t most = INT64_MAX);

}  // namespace ddp::config
