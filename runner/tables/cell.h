#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_number.h"
#include "format/table.h"

namespace ddp::tables {

// Returns the number, or the days of the date, in a cell of a column that is no text; nothing: it is none.
std::optional<double> number_in(std::string_view cell, format::CellType type, const format::TableOptions& options);

// The cells of a column of a CSV that are missing. In a column of numbers a mark that is a number stands for its value,
// and quotes have no meaning; in a column of text a cell in quotes is text, unless it is empty.
class MissingCells {
 public:
  MissingCells(const format::TableOptions& options, const format::WantedColumn& column);

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
