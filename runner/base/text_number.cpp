#include "base/text_number.h"

#include <cmath>
#include <cstdlib>
#include <string>

namespace ddp {

std::string_view without_blanks(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

namespace {

std::optional<double> parse_unusual_number(std::string_view cell) {
  cell = without_blanks(cell);
  if (cell.size() > 1 && cell[0] == '+' && cell[1] != '-') cell.remove_prefix(1);
  double value = 0;
  const auto [rest, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (cell.empty() || rest != cell.data() + cell.size()) return std::nullopt;
  // Out of the range of a double: infinity or 0, as strtod rounds.
  if (error == std::errc::result_out_of_range) return std::strtod(std::string(cell).c_str(), nullptr);
  if (error != std::errc{} || value != value) return std::nullopt;
  return value;
}

}  // namespace

std::optional<double> parse_number(std::string_view cell) {
  double value = 0;
  const char* const end = cell.data() + cell.size();
  if (read_plain_number(cell.data(), end, value) == end && !cell.empty()) return value;
  const auto [rest, error] = std::from_chars(cell.data(), end, value);
  if (error == std::errc{} && rest == end && value == value) return value;
  return parse_unusual_number(cell);
}

bool is_out_of_range(std::string_view cell) {
  const std::optional<double> number = parse_number(cell);
  if (!number) return false;
  if (std::isinf(*number)) return cell.find_first_of("0123456789") != std::string_view::npos;
  return *number == 0 && cell.substr(0, cell.find_first_of("eE")).find_first_of("123456789") != std::string_view::npos;
}

}  // namespace ddp
