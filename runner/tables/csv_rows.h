#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/csv/options.h>
#include <arrow/io/interfaces.h>

#include "base/error.h"

namespace ddp::tables {

// A row that is larger is a mistake: a quoted cell that is not closed, or no CSV file.
inline constexpr std::int64_t kLargestCsvRow = 64 << 20;

Error too_large_row(const std::string& where);

// RFC 4180 for Arrow's parser: quotes, doubled inside of quotes; line breaks inside of quotes.
arrow::csv::ParseOptions csv_dialect(char delimiter);

struct CsvCell {
  std::string text;
  std::int64_t line = 0;  // of its first byte, from 1: line breaks inside of quotes count too
};

struct CsvRow {
  std::int64_t line = 0;
  std::vector<CsvCell> cells;
};

// Reads a CSV byte by byte (RFC 4180), as Arrow's parser understands it: a cell is quoted where it begins with a quote,
// "\n", "\r" and "\r\n" end a row, empty lines are no rows. For what needs lines more than speed: the header, and the
// places of mistakes.
class CsvRows {
 public:
  CsvRows(const std::filesystem::path& file, char delimiter);

  // Takes the next row. Returns false at the end. Throws ddp::Error (usage) where the file cannot be read, a quoted
  // cell is not closed, or a row is larger than any table's.
  bool next(CsvRow& row);

  // How many bytes of the (unpacked) file are behind the last row: the next one begins there.
  std::int64_t offset() const { return before_piece_ + at_; }

 private:
  int peek();
  int take();
  bool skip_empty_lines();
  void end_line(int first);
  int take_cell(CsvCell& cell, std::size_t& row_size);
  void take_quoted(CsvCell& cell, std::size_t& row_size);
  void add(CsvCell& cell, int byte, std::size_t& row_size);

  const std::filesystem::path file_;
  const char delimiter_;
  std::shared_ptr<arrow::io::InputStream> bytes_;
  std::shared_ptr<arrow::Buffer> piece_;
  std::int64_t before_piece_ = 0;
  std::int64_t at_ = 0;
  std::int64_t line_ = 1;
};

}  // namespace ddp::tables
