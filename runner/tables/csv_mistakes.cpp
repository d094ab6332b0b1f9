#include "tables/csv_mistakes.h"

#include <cstdint>

#include <arrow/util/utf8.h>

#include "config/text/source.h"
#include "tables/cell.h"
#include "tables/columns.h"
#include "tables/csv_rows.h"
#include "tables/mistakes.h"

namespace ddp::tables {
namespace {

void check_cell(const CsvCell& cell, const format::WantedColumn& column, Mistakes& mistakes) {
  if (says_missing(cell.text)) {
    mistakes.add_missing(cell.line, column);
  } else if (column.type == format::CellType::number) {
    if (!parse_number(cell.text)) mistakes.add_text(cell.line, column, cell.text);
  } else if (!arrow::util::ValidateUTF8(reinterpret_cast<const std::uint8_t*>(cell.text.data()),
                                        static_cast<std::int64_t>(cell.text.size()))) {
    mistakes.add(cell.line, column, shown(cell.text) + " is not UTF-8");
  }
}

void check_row(const CsvRow& row, const format::TableOptions& options, std::size_t width,
               const std::vector<format::WantedColumn>& wanted, const std::vector<int>& places, Mistakes& mistakes) {
  if (row.cells.size() != width) {
    mistakes.add(row.line, "has " + std::to_string(row.cells.size()) + (row.cells.size() == 1 ? " cell" : " cells") +
                               (options.header ? ", but the header has " : ", but the first row has ") +
                               std::to_string(width));
    return;
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    check_cell(row.cells[static_cast<std::size_t>(places[i])], wanted[i], mistakes);
  }
}

}  // namespace

Error csv_mistakes(const std::filesystem::path& file, const format::TableOptions& options,
                   const std::vector<format::ColumnInfo>& columns, const std::vector<format::WantedColumn>& wanted,
                   const Error& refusal) {
  const std::vector<int> places = places_of(wanted, columns, file);
  Mistakes mistakes(file);
  try {
    arrow::util::InitializeUTF8();
    CsvRows rows(file, options.delimiter);
    CsvRow row;
    bool is_header = options.header;
    while (!mistakes.full() && rows.next(row)) {
      if (!is_header) {
        check_row(row, options, columns.size(), wanted, places, mistakes);
        mistakes.count_rows(1);
      }
      is_header = false;
    }
  } catch (const Error& error) {
    // The rows after this error cannot be read.
    if (mistakes.empty()) return error;
  }
  return mistakes.empty() ? refusal : mistakes.error();
}

}  // namespace ddp::tables
