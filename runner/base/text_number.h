#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace ddp {

// Returns the number, if the whole text is one that fits the type: no blanks, no leading plus. A floating-point type
// takes "inf" and "nan" too.
template <class Number>
std::optional<Number> text_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && rest == end ? std::optional(number) : std::nullopt;
}

}  // namespace ddp
