#include "datasets/table/value_names.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace ddp::datasets {
namespace {

std::optional<double> number_in(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || rest != text.data() + text.size() || !std::isfinite(value)) return {};
  return value == 0 ? 0.0 : value;  // -0 is 0
}

std::string shortest_text(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return {text, end};
}

bool are_numbers(const std::vector<std::string>& names) {
  return std::all_of(names.begin(), names.end(), [](const auto& name) { return number_in(name).has_value(); });
}

}  // namespace

ValueNames::ValueNames(std::vector<std::string> names) : numeric_(are_numbers(names)) {
  for (std::string& name : names) add(numeric_ ? shortest_text(*number_in(name)) : name);
}

ValueNames ValueNames::sorted() const {
  std::vector<std::string> names = names_;
  if (are_numbers(names)) {
    std::sort(names.begin(), names.end(), [](const auto& a, const auto& b) { return *number_in(a) < *number_in(b); });
  } else {
    std::sort(names.begin(), names.end());
  }
  return ValueNames(std::move(names));
}

void ValueNames::add(std::string_view text) {
  if (numbers_.find(text) != numbers_.end()) return;
  numbers_.emplace(text, size());
  names_.emplace_back(text);
}

std::int64_t ValueNames::find(std::string_view text) const {
  if (const auto known = numbers_.find(text); known != numbers_.end()) return known->second;
  if (!numeric_) return -1;
  const auto value = number_in(text);
  if (!value) return -1;
  const auto known = numbers_.find(shortest_text(*value));
  return known == numbers_.end() ? -1 : known->second;
}

}  // namespace ddp::datasets
