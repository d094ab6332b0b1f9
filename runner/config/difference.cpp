#include "config/difference.h"

#include <functional>

#include "base/url.h"
#include "config/text/source.h"

namespace ddp::config {
namespace {

constexpr std::size_t kShownCharacters = 200;

std::string shown(const std::string& text) {
  return text.size() <= kShownCharacters ? printable(text) : printable(text.substr(0, kShownCharacters)) + "…";
}

std::string shown(const Value* value) {
  return value == nullptr ? "missing" : shown(value->dump(-1, ' ', false, Value::error_handler_t::replace));
}

const Value* entry(const Value& table, const std::string& key) {
  const auto found = table.find(key);
  return found == table.end() ? nullptr : &*found;
}

// Takes one difference; returns whether to continue the search.
using Take = std::function<bool(const std::string& key, const Value* first, const Value* second)>;

// Value::diff would list every difference, which takes a hundred times the memory.
bool compare(const std::string& key, const Value& first, const Value& second, const Take& take) {
  if (!first.is_object() || !second.is_object()) return first == second || take(key, &first, &second);
  const auto below = [&key](const std::string& name) { return key.empty() ? name : key + "." + name; };
  for (const auto& [name, value] : first.items()) {
    const Value* other = entry(second, name);
    if (!(other ? compare(below(name), value, *other, take) : take(below(name), &value, nullptr))) return false;
  }
  for (const auto& [name, value] : second.items()) {
    if (entry(first, name) == nullptr && !take(below(name), nullptr, &value)) return false;
  }
  return true;
}

}  // namespace

bool is_of_paths(const Difference& difference) {
  const auto is_path = [](const std::string& value) { return value.starts_with("\"/") || value.starts_with("[\"/"); };
  return is_path(difference.first) && is_path(difference.second);
}

std::vector<Difference> first_differences(const Value& first, const Value& second, std::size_t most) {
  std::vector<Difference> found;
  compare("", first, second, [&](const std::string& key, const Value* mine, const Value* other) {
    found.push_back({.key = shown(key), .first = shown(mine), .second = shown(other)});
    return found.size() < most;
  });
  return found;
}

std::optional<Difference> first_difference(const Value& first, const Value& second) {
  const std::vector<Difference> found = first_differences(first, second, 1);
  return found.empty() ? std::nullopt : std::optional(found.front());
}

Value differences(const Value& first, const Value& second) {
  Value all = Value::object();
  compare("", first, second, [&all](const std::string& key, const Value* mine, const Value* other) {
    all[key] = Value::array({mine ? *mine : Value(), other ? *other : Value()});
    return true;
  });
  return all;
}

std::string change_in_words(const std::string& key, const Value& change) {
  const auto text = [](const Value& value) -> std::string {
    return value.is_null() ? "not set" : value.dump(-1, ' ', false, Value::error_handler_t::replace);
  };
  return key + " was " + text(change.at(0)) + ", now " + text(change.at(1));
}

Value without_queries(Value value) {
  if (value.is_structured()) {
    for (Value& one : value) one = without_queries(std::move(one));
  } else if (value.is_string()) {
    const auto text = value.get<std::string>();
    value = is_url(text) ? without_query(text) : ddp::without_queries(text);
  }
  return value;
}

}  // namespace ddp::config
