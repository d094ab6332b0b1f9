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

// A wanted column, and its place in a row.
struct Wanted {
  const format::WantedColumn& column;
  std::size_t place = 0;
  MissingCells missing;
};

void check_cell(const CsvCell& cell, const Wanted& wanted, Mistakes& mistakes) {
  const bool is_number = wanted.column.type == format::CellType::number;
  const auto number = is_number ? parse_number(cell.text) : std::nullopt;
  if (number ? wanted.missing.holds(*number) : wanted.missing.holds(cell.text, cell.is_quoted)) {
    mistakes.add_missing(cell.line, wanted.column);
  } else if (is_number && !number) {
    mistakes.add_text(cell.line, wanted.column, cell.text);
  }
}

void check_row(const CsvRow& row, const format::TableOptions& options, std::size_t width,
               const std::vector<Wanted>& wanted, Mistakes& mistakes) {
  if (row.cells.size() != width) {
    const bool ends_with_delimiter = row.cells.size() == width + 1 && row.cells.back().text.empty();
    mistakes.add_ragged(row.line,
                        "has " + std::to_string(row.cells.size()) + (row.cells.size() == 1 ? " cell" : " cells") +
                            (options.header ? ", but the header has " : ", but the first row has ") +
                            std::to_string(width),
                        ends_with_delimiter);
    return;
  }
  for (const Wanted& one : wanted) check_cell(row.cells[one.place], one, mistakes);
}

// Returns the first wanted cell of a row that is not UTF-8, with its column.
std::optional<Error> first_not_utf8(const CsvRow& row, const std::filesystem::path& file,
                                    const std::vector<Wanted>& wanted) {
  for (const Wanted& one : wanted) {
    if (one.place >= row.cells.size() || is_utf8(row.cells[one.place].text)) continue;
    return not_utf8(file, row.cells[one.place].line, "column " + shown(one.column.name), row.cells[one.place].text);
  }
  return {};
}

}  // namespace

Error csv_mistakes(const std::filesystem::path& file, const format::TableOptions& options,
                   const std::vector<format::ColumnInfo>& columns, const std::vector<format::WantedColumn>& all,
                   const Error& refusal) {
  const std::vector<int> places = places_of(all, columns, file);
  std::vector<Wanted> wanted;
  for (std::size_t i = 0; i < all.size(); ++i) {
    wanted.push_back({.column = all[i],
                      .place = static_cast<std::size_t>(places[i]),
                      .missing = MissingCells(options.missing_values, all[i])});
  }
  Mistakes mistakes(file, "add the marks of missing cells to dataset.missing_values");
  try {
    CsvRows rows(file, options.delimiter);
    CsvRow row;
    bool is_header = options.header;
    while (!mistakes.full() && rows.next(row)) {
      if (!is_header) {
        // All bytes above 127 of such a file are mistakes: one stands for them.
        if (const auto bad = first_not_utf8(row, file, wanted)) return *bad;
        check_row(row, options, columns.size(), wanted, mistakes);
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
