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

// Returns the mistake in a cell; "" if the cell is valid.
std::string csv_fault(const std::string& cell, format::CellType type) {
  if (says_missing(cell)) return "";
  if (type == format::CellType::number) return parse_number(cell) ? "" : not_a_number(cell);
  const bool is_text = arrow::util::ValidateUTF8(reinterpret_cast<const std::uint8_t*>(cell.data()),
                                                 static_cast<std::int64_t>(cell.size()));
  return is_text ? "" : shown(cell) + " is not UTF-8";
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
    const CsvCell& cell = row.cells[static_cast<std::size_t>(places[i])];
    const std::string fault = csv_fault(cell.text, wanted[i].type);
    if (!fault.empty()) mistakes.add(cell.line, wanted[i], fault);
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
      if (!is_header) check_row(row, options, columns.size(), wanted, places, mistakes);
      is_header = false;
    }
  } catch (const Error& error) {
    // The rows after this error cannot be read.
    if (mistakes.empty()) return error;
  }
  return mistakes.empty() ? refusal : mistakes.error();
}

}  // namespace ddp::tables
