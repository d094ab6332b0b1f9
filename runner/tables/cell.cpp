#include "tables/cell.h"

namespace ddp::tables {

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

}  // namespace ddp::tables
