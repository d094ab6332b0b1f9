#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace ddp {

constexpr double kWholeNumbers = 9007199254740992.0;  // 2^53: a double represents all whole numbers up to it

// Returns the number, if the whole text is one that fits the type: no blanks, no leading plus. A floating-point type
// takes "inf" and "nan" too.
template <class Number>
std::optional<Number> text_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && rest == end ? std::optional(number) : std::nullopt;
}

// Returns the bytes of a text such as "4096", "64KiB", "10 GB" or "2T" (K, M, G and T are powers of 1024). Returns
// nothing if it has another form, or is 0 or more than 2^63 - 1.
std::optional<std::int64_t> parse_bytes(std::string_view text);

// Returns the text without the spaces and tabs around it.
std::string_view without_blanks(std::string_view text);

// Returns a text as a cell of a CSV file, in quotes if it needs them (RFC 4180).
std::string csv_cell(const std::string& text);

// How the numbers of a table are written.
struct NumberFormat {
  char decimal = '.';
  std::string thousands = {};  // between groups of three digits; "": there are none

  bool is_usual() const { return decimal == '.' && thousands.empty(); }
};

// Returns the double nearest to the decimal number of a cell, as std::from_chars rounds; one that is too large or too
// small for a double becomes infinite or 0. Allowed are spaces and tabs around it, a "+" before it, and the numbers
// "inf" and "-inf"; other words are not numbers.
std::optional<double> parse_number(std::string_view cell);
// The same for numbers that are written so: "-1.234,5" with a decimal "," and "." between thousands.
std::optional<double> parse_number(std::string_view cell, const NumberFormat& format);

// Is a number that parse_number accepts written in digits, and too large or too small for a double?
bool is_out_of_range(std::string_view cell);

// Reads digits with an optional "-" before and at most one decimal character among them, from `at` on. `thousands`:
// stands between groups of three digits; '\0': nothing does. Returns their end; null if no digits were found, or too
// many for one division to be exact: then parse_number may succeed. The quotient of two doubles, one an integer below
// 2^53 and one a power of ten up to 10^22, is the nearest double (Clinger 1990).
inline const char* read_plain_number(const char* at, const char* end, double& value, char decimal = '.',
                                     char thousands = '\0') {
  static constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,
                                       1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19};
  const bool negative = at != end && *at == '-';
  at += negative;
  std::uint64_t digits = 0;
  const auto take_digits = [&] {
    const char* const first = at;
    for (; at != end && static_cast<unsigned char>(*at - '0') < 10; ++at) {
      digits = digits * 10 + static_cast<unsigned char>(*at - '0');
    }
    return at - first;
  };
  std::ptrdiff_t count = take_digits();
  std::ptrdiff_t fraction = 0;
  if (thousands != '\0' && at != end && *at == thousands) {
    if (count == 0 || count > 3) return nullptr;
    while (at != end && *at == thousands) {
      ++at;
      const std::ptrdiff_t group = take_digits();
      if (group != 3) return nullptr;
      count += group;
    }
  }
  if (at != end && *at == decimal) {
    ++at;
    fraction = take_digits();
    count += fraction;
  }
  if (count == 0 || count > 19 || digits > std::uint64_t{1} << 53) return nullptr;  // 19 digits fit in 64 bits
  const double quotient = static_cast<double>(digits) / kPowers[fraction];
  value = negative ? -quotient : quotient;
  return at;
}

}  // namespace ddp
