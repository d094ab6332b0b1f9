#include "base/text_number.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

namespace ddp {

std::string_view without_blanks(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
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

namespace {

// Returns the text with "." as its decimal character and nothing between thousands; "": it is no such number.
std::string in_usual_format(std::string_view cell, const NumberFormat& format) {
  std::string text;
  std::size_t group = 0;  // digits since the last separator
  bool is_grouped = false, is_whole = true;
  for (std::size_t at = 0; at < cell.size();) {
    const bool ends_group = is_grouped && group != 3;
    if (is_whole && !format.thousands.empty() && cell.substr(at).starts_with(format.thousands)) {
      if (ends_group || group < 1 || group > 3) return "";
      is_grouped = true;
      group = 0;
      at += format.thousands.size();
      continue;
    }
    const char c = cell[at++];
    const bool is_digit = c >= '0' && c <= '9';
    if (is_whole && !is_digit && ends_group) return "";
    if (c == '.' && format.decimal != '.') return "";
    if (!is_digit && c != '-' && c != '+') is_whole = false;
    group += is_digit ? 1 : 0;
    text += c == format.decimal ? '.' : c;
  }
  return is_whole && is_grouped && group != 3 ? "" : text;
}

}  // namespace

std::optional<double> parse_number(std::string_view cell, const NumberFormat& format) {
  if (format.is_usual()) return parse_number(cell);
  double value = 0;
  const char* const end = cell.data() + cell.size();
  const char thousands = format.thousands.size() == 1 ? format.thousands.front() : '\0';
  if (!cell.empty() && read_plain_number(cell.data(), end, value, format.decimal, thousands) == end) return value;
  return parse_number(in_usual_format(without_blanks(cell), format));
}

bool is_out_of_range(std::string_view cell) {
  const std::optional<double> number = parse_number(cell);
  if (!number) return false;
  if (std::isinf(*number)) return cell.find_first_of("0123456789") != std::string_view::npos;
  return *number == 0 && cell.substr(0, cell.find_first_of("eE")).find_first_of("123456789") != std::string_view::npos;
}

namespace {

constexpr std::pair<std::string_view, std::int64_t> kSizeUnits[] = {
    {"", 1},
    {"B", 1},
    {"KiB", std::int64_t{1} << 10},
    {"MiB", std::int64_t{1} << 20},
    {"GiB", std::int64_t{1} << 30},
    {"TiB", std::int64_t{1} << 40},
    {"K", std::int64_t{1} << 10},
    {"M", std::int64_t{1} << 20},
    {"G", std::int64_t{1} << 30},
    {"T", std::int64_t{1} << 40},
    {"KB", 1'000},
    {"MB", 1'000'000},
    {"GB", 1'000'000'000},
    {"TB", 1'000'000'000'000},
};

}  // namespace

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number <= 0) return {};
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const auto& [name, bytes] : kSizeUnits) {
    if (unit == name && number <= std::numeric_limits<std::int64_t>::max() / bytes) return number * bytes;
  }
  return {};
}

}  // namespace ddp
