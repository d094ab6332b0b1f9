#include "config/difference.h"

#include <algorithm>

#include "config/source.h"

namespace ddp::config {
namespace {

constexpr std::size_t kShown = 200;

std::string shown(const std::string& text) {
  return text.size() <= kShown ? printable(text) : printable(text.substr(0, kShown)) + "…";
}

std::string shown(const Value* value) {
  return value == nullptr ? "missing" : shown(value->dump(-1, ' ', false, Value::error_handler_t::replace));
}

Difference make_difference(const std::string& path, const Value* first, const Value* second) {
  return {.key = shown(path), .first = shown(first), .second = shown(second)};
}

const Value* entry(const Value& table, const std::string& key) {
  const auto found = table.find(key);
  return found == table.end() ? nullptr : &*found;
}

// Value::diff would list every difference, for a hundred times the memory.
std::optional<Difference> find(const std::string& path, const Value& first, const Value& second) {
  const auto below = [&path](const std::string& key) { return path.empty() ? key : path + "." + key; };
  if (first.is_object() && second.is_object()) {
    for (const auto& [key, value] : first.items()) {
      const Value* other = entry(second, key);
      if (other == nullptr) return make_difference(below(key), &value, nullptr);
      if (auto found = find(below(key), value, *other)) return found;
    }
    for (const auto& [key, value] : second.items()) {
      if (entry(first, key) == nullptr) return make_difference(below(key), nullptr, &value);
    }
    return {};
  }
  if (first.is_array() && second.is_array()) {
    for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
      const Value* mine = i < first.size() ? &first[i] : nullptr;
      const Value* other = i < second.size() ? &second[i] : nullptr;
      if (!mine || !other) return make_difference(below(std::to_string(i)), mine, other);
      if (auto found = find(below(std::to_string(i)), *mine, *other)) return found;
    }
    return {};
  }
  if (first == second) return {};
  return make_difference(path, &first, &second);
}

}  // namespace

std::optional<Difference> first_difference(const Value& first, const Value& second) { return find("", first, second); }

}  // namespace ddp::config
