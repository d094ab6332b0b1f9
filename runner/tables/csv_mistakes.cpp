#include "tables/csv_mistakes.h"

#include <optional>

#include "config/text/source.h"
#include "tables/cell.h"
#include "tables/columns.h"
#include "tables/csv_rows.h"
#include "tables/mistakes.h"
#include "tables/text_encoding.h"

namespace ddp::tables {
namespace {

void check_cell(const CsvCell& cell, const format::WantedColumn& column, Mistakes& mistakes) {
  if (says_missing(cell.text)) {
    mistakes.add_missing(cell.line, column);
  } else if (column.type == format::CellType::number && !parse_number(cell.text)) {
    mistakes.add_text(cell.line, column, cell.text);
  }
}

void check_row(const CsvRow& row, const format::TableOptions& options, std::size_t width,
               const std::vector<format::WantedColumn>& wanted, const std::vector<int>& places, Mistakes& mistakes) {
  if (row.cells.size() != width) {
    mistakes.add_ragged(
        row.line, "has " + std::to_string(row.cells.size()) + (row.cells.size() == 1 ? " cell" : " cells") +
                      (options.header ? ", but the header has " : ", but the first row has ") + std::to_string(width));
    return;
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    check_cell(row.cells[static_cast<std::size_t>(places[i])], wanted[i], mistakes);
  }
}

// Returns the first wanted cell of a row that is not UTF-8, with its column.
std::optional<Error> first_not_utf8(const CsvRow& row, const std::filesystem::path& file,
                                    const std::vector<format::WantedColumn>& wanted, const std::vector<int>& places) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto place = static_cast<std::size_t>(places[i]);
    if (place >= row.cells.size() || is_utf8(row.cells[place].text)) continue;
    return not_utf8(file, row.cells[place].line, "column " + shown(wanted[i].name), row.cells[place].text);
  }
  return {};
}

}  // namespace

Error csv_mistakes(const std::filesystem::path& file, const format::TableOptions& options,
                   const std::vector<format::ColumnInfo>& columns, const std::vector<format::WantedColumn>& wanted,
                   const Error& refusal) {
  const std::vector<int> places = places_of(wanted, columns, file);
  Mistakes mistakes(file);
  try {
    CsvRows rows(file, options.delimiter);
    CsvRow row;
    bool is_header = options.header;
    while (!mistakes.full() && rows.next(row)) {
      if (!is_header) {
        // All bytes above 127 of such a file are mistakes: one stands for them.
        if (const auto bad = first_not_utf8(row, file, wanted, places)) return *bad;
        check_row(row, options, columns.size(), wanted, places, mistakes);
        mistakes.count_rows(1);
      }
      is_header = false;
    }
  } catch (const Error& error) {
    // The rows after this error cannot be read.
    if (mistakes.empty()) return error;
  }
  if (mistakes.empty()) return refusal;
  const Error error = mistakes.error();
  if (options.header || !mistakes.only_in_line(1)) return error;
  return usage_error(error.summary(), error.where(), "line 1 looks like names: leave out dataset.header");
}

}  // namespace ddp::tables
