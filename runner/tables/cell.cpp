#include "tables/cell.h"

#include <charconv>
#include <cstdlib>

namespace ddp::tables {
namespace {

std::string_view without_blanks(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

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

MissingCells::MissingCells(const std::vector<std::string>& marks, const format::WantedColumn& column)
    : type_(column.type) {
  for (const std::string& mark : marks) {
    const auto& never = column.never_missing;
    if (std::find(never.begin(), never.end(), mark) != never.end()) continue;
    marks_.push_back(mark);
    sizes_ |= std::uint64_t{1} << std::min<std::size_t>(mark.size(), 63);
    if (type_ != format::CellType::number) continue;
    if (const auto number = parse_number(mark)) numbers_.push_back(*number);
  }
}

std::optional<double> parse_number(std::string_view cell) {
  double value = 0;
  const char* const end = cell.data() + cell.size();
  if (read_plain_number(cell.data(), end, value) == end && !cell.empty()) return value;
  const auto [rest, error] = std::from_chars(cell.data(), end, value);
  if (error == std::errc{} && rest == end && value == value) return value;
  return parse_unusual_number(cell);
}

}  // namespace ddp::tables
