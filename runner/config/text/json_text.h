#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "config/value.h"

namespace ddp::config {

// JSON from outside: of a file, or of another machine. All of these throw std::runtime_error that says in plain words
// what is wrong; who reads knows whose it is.

// The text as JSON, for memory and time in proportion to its length: it is nested no deeper than 32, and no object has
// a key twice.
nlohmann::json parse_json(std::string_view text);
// The same in the file's order; no object has more than 1000 keys, since finding one there takes a look at all.
Value parse_value(std::string_view text);

// What an object holds under a key, of that kind.
const nlohmann::json& member(const nlohmann::json& object, const std::string& key);
std::string text_member(const nlohmann::json& object, const std::string& key);
double number_member(const nlohmann::json& object, const std::string& key);
// A whole number from 0 to `most`.
std::int64_t count_member(const nlohmann::json& object, const std::string& key, std::int64_t most = INT64_MAX);

// The value as a whole number from 0 to `most`: 0.5 and -1 are none.
std::int64_t as_count(const nlohmann::json& value, std::int64_t most = INT64_MAX);
std::int64_t as_count(const Value& value, std::int64_t most = INT64_MAX);

}  // namespace ddp::config
