#include "tables/cell.h"

#include "base/text_date.h"

namespace ddp::tables {

std::optional<double> number_in(std::string_view cell, format::CellType type, const format::TableOptions& options) {
  return type == format::CellType::date ? parse_date(cell, options.date_format) : parse_number(cell, options.numbers);
}

MissingCells::MissingCells(const format::TableOptions& options, const format::WantedColumn& column)
    : type_(column.type) {
  for (const std::string& mark : options.missing_values) {
    const auto& never = column.never_missing;
    if (std::find(never.begin(), never.end(), mark) != never.end()) continue;
    marks_.push_back(mark);
    sizes_ |= std::uint64_t{1} << std::min<std::size_t>(mark.size(), 63);
    if (type_ == format::CellType::text) continue;
    if (const auto number = number_in(mark, type_, options)) numbers_.push_back(*number);
  }
}

}  // namespace ddp::tables
