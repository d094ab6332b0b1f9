#pragma once

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>

namespace ddp::launch {

// Returns the value of a variable; nothing if it is not set or empty.
inline std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
}

// Returns the number, if the whole text is one.
template <class Number>
std::optional<Number> parse(const std::string& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace ddp::launch
