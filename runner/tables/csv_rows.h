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

// A larger row is a mistake: a quoted cell is not closed, or the file is not a CSV file.
inline constexpr std::int64_t kLargestCsvRow = 64 << 20;

Error too_large_row(const std::string& where);

// RFC 4180 for Arrow's parser: doubled quotes and line breaks inside of quotes.
arrow::csv::ParseOptions csv_dialect(char delimiter);

struct CsvCell {
  std::string text;
  std::int64_t line = 0;  // line of its first byte, from 1; line breaks inside of quotes count too
  bool is_quoted = false;
};

struct CsvRow {
  std::int64_t line = 0;
  std::vector<CsvCell> cells;
};

// Reads a CSV file byte by byte (RFC 4180), with the rules of Arrow's parser: a cell is quoted if it begins with a
// quote; "\n", "\r" and "\r\n" end a row; empty lines are not rows. For uses that need line numbers more than speed:
// the header, and the lines of mistakes.
class CsvRows {
 public:
  CsvRows(const std::filesystem::path& file, char delimiter);

  // Reads the next row. Returns false at the end. Throws ddp::Error (usage) if the file cannot be read, a quoted cell
  // is not closed, or a row exceeds kLargestCsvRow.
  bool next(CsvRow& row);

  // The offset of the next row in the (decompressed) file, in bytes.
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
