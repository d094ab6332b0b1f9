#include "tables/json_line.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace ddp::tables {
namespace {

// Is it a number as JSON writes it?
bool is_number(std::string_view written) {
  const char* at = written.data();
  const char* const end = at + written.size();
  const auto skip_digits = [&] {
    const char* const begin = at;
    while (at != end && *at >= '0' && *at <= '9') ++at;
    return at - begin;
  };
  if (at != end && *at == '-') ++at;
  const bool begins_with_zero = at != end && *at == '0';
  const auto whole = skip_digits();
  if (whole == 0 || (begins_with_zero && whole > 1)) return false;
  if (at != end && *at == '.' && (++at, skip_digits() == 0)) return false;
  if (at != end && (*at == 'e' || *at == 'E')) {
    ++at;
    if (at != end && (*at == '+' || *at == '-')) ++at;
    if (skip_digits() == 0) return false;
  }
  return at == end;
}

// Is it the inside of a JSON text that has no escapes?
bool is_plain_text(std::string_view written) {
  return std::none_of(written.begin(), written.end(),
                      [](char byte) { return static_cast<std::uint8_t>(byte) < ' ' || byte == '\\'; });
}

}  // namespace

bool is_json(const Cell& cell) {
  switch (cell.kind) {
    case Kind::integer:
    case Kind::number:
      return is_number(cell.written);
    case Kind::infinite:
      return cell.written == kInfinity || (cell.written.starts_with('-') && cell.written.substr(1) == kInfinity);
    case Kind::text:
      return is_plain_text(cell.written) || nlohmann::json::accept('"' + std::string(cell.written) + '"');
    case Kind::list:
    case Kind::object:
      return nlohmann::json::accept(cell.written) || nlohmann::json::accept(standard_json(cell.written));
    default:
      return true;
  }
}

std::string unescaped(std::string_view written) {
  if (is_plain_text(written)) return std::string(written);
  return nlohmann::json::parse('"' + std::string(written) + '"').get<std::string>();
}

std::size_t Keys::place_of(std::string_view written) {
  std::string name = unescaped(written);
  const auto known = places_.find(name);
  if (known == places_.end()) return add(std::move(name), written);
  keys_[known->second] = written;
  return known->second;
}

std::size_t Keys::add(std::string name, std::string_view written) {
  places_.emplace(std::move(name), keys_.size());
  keys_.emplace_back(written);
  return keys_.size() - 1;
}

}  // namespace ddp::tables
