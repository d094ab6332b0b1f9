#include "record/metrics/json_line.h"

#include <charconv>
#include <cmath>

#include <nlohmann/json.hpp>

namespace ddp::record {

JsonLine::JsonLine(std::string_view event) {
  text_.reserve(192);
  text_ += "{\"event\":\"";
  text_ += event;
  text_ += '"';
}

void JsonLine::key(std::string_view name) {
  text_ += ",\"";
  text_ += name;
  text_ += "\":";
}

JsonLine& JsonLine::add(std::string_view name, std::int64_t value) {
  key(name);
  char digits[24];
  text_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  return *this;
}

JsonLine& JsonLine::add(std::string_view name, std::string_view value) {
  key(name);
  text_ += nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return *this;
}

JsonLine& JsonLine::add_json(std::string_view name, std::string_view value) {
  key(name);
  text_ += value;
  return *this;
}

JsonLine& JsonLine::add(std::string_view name, double value) {
  key(name);
  if (!std::isfinite(value)) {
    text_ += "null";
    finite_ = false;
    return *this;
  }
  char digits[32];
  text_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  return *this;
}

std::string JsonLine::finish() {
  if (!finite_) text_ += ",\"finite\":false";
  text_ += "}\n";
  return std::move(text_);
}

}  // namespace ddp::record
