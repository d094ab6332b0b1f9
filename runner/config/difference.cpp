#include "config/difference.h"

#include <algorithm>

namespace ddp::config {
namespace {

std::string text_at(const Value& value, const Value::json_pointer& place) {
  return value.contains(place) ? value.at(place).dump(-1, ' ', false, Value::error_handler_t::replace) : "missing";
}

}  // namespace

std::optional<Difference> first_difference(const Value& first, const Value& second) {
  const auto patch = Value::diff(first, second);
  if (patch.empty()) return {};
  const std::string path = patch.front().at("path");
  const Value::json_pointer place(path);
  std::string key = path.substr(std::min<std::size_t>(1, path.size()));
  std::replace(key.begin(), key.end(), '/', '.');
  return Difference{.key = key, .first = text_at(first, place), .second = text_at(second, place)};
}

}  // namespace ddp::config
