#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/table.h"

namespace ddp::tables {

// Returns the double nearest to a decimal number, as std::from_chars rounds. Allowed are spaces and tabs around it, a
// "+" before it, and the numbers "inf" and "-inf"; other words are not numbers.
std::optional<double> parse_number(std::string_view cell);

// Reads digits with an optional "-" before and at most one "." among them, from `at` on. Returns their end; null if no
// digits were found, or too many for one division to be exact: then parse_number may succeed. The quotient of two
// doubles, one an integer below 2^53 and one a power of ten up to 10^22, is the nearest double (Clinger 1990).
inline const char* read_plain_number(const char* at, const char* end, double& value) {
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
  if (at != end && *at == '.') {
    ++at;
    fraction = take_digits();
    count += fraction;
  }
  if (count == 0 || count > 19 || digits > (std::uint64_t{1} << 53)) return nullptr;  // 19 digits fit in 64 bits
  const double quotient = static_cast<double>(digits) / kPowers[fraction];
  value = negative ? -quotient : quotient;
  return at;
}

// The cells of a column of a CSV that are missing. In a column of numbers a mark that is a number stands for its value,
// and quotes have no meaning; in a column of text a cell in quotes is text, unless it is empty.
class MissingCells {
 public:
  MissingCells(const std::vector<std::string>& marks, const format::WantedColumn& column);

  bool holds(std::string_view cell, bool is_quoted) const {
    if ((sizes_ >> std::min<std::size_t>(cell.size(), 63) & 1) == 0) return false;
    if (is_quoted && !cell.empty() && type_ == format::CellType::text) return false;
    return std::find(marks_.begin(), marks_.end(), cell) != marks_.end();
  }
  bool holds_numbers() const { return !numbers_.empty(); }
  bool holds(double number) const { return std::find(numbers_.begin(), numbers_.end(), number) != numbers_.end(); }

 private:
  format::CellType type_;
  std::vector<std::string> marks_;
  std::uint64_t sizes_ = 0;  // a bit for the size of each mark
  std::vector<double> numbers_;
};

}  // namespace ddp::tables
