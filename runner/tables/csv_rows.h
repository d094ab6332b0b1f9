#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/csv/options.h>
#include <arrow/io/interfaces.h>
#include <arrow/util/delimiting.h>

#include "format/table.h"
#include "tables/source.h"

namespace ddp::tables {

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
  CsvRows(const std::filesystem::path& file, const format::TableOptions& options);

  // Reads the next row. Returns false at the end. Throws ddp::Error (usage) if the file cannot be read, a quoted cell
  // is not closed, or a row is larger than 64 MB.
  bool next(CsvRow& row);

  // The offset of the next row in the (decompressed) file, in bytes.
  std::int64_t offset() const { return before_piece_ + at_; }

 private:
  int peek();
  int take();
  void end_line(int first);

  const std::filesystem::path file_;
  const char delimiter_;
  std::shared_ptr<arrow::io::InputStream> bytes_;
  std::shared_ptr<arrow::Buffer> piece_;
  std::int64_t before_piece_ = 0;
  std::int64_t at_ = 0;
  std::int64_t line_ = 1;
};

// Whole rows of a CSV file, as bytes.
struct CsvBlock {
  std::shared_ptr<arrow::Buffer> bytes;
  bool last = false;  // the last block: its last row may lack a line break, or end inside of quotes
};

// Splits a CSV file into blocks of whole rows, about 2 MB each. Line breaks inside of quotes do not end a row.
class CsvBlocks {
 public:
  // `span`: the part of the file with the rows, in bytes.
  CsvBlocks(const std::filesystem::path& file, const format::TableOptions& options, const Span& span);

  // Reads the next rows. Returns false at the end. Throws ddp::Error (usage) if the file cannot be read, a row is
  // larger than 64 MB, or the last cell is quoted but not closed.
  bool next(CsvBlock& block);

 private:
  void require_closed(const arrow::Buffer& rest);

  const std::filesystem::path file_;
  const char delimiter_;
  std::unique_ptr<arrow::Chunker> chunker_;
  std::shared_ptr<arrow::io::InputStream> bytes_;
  std::shared_ptr<arrow::Buffer> partial_;  // the beginning of a row
  bool at_end_ = false;
};

// Is each quoted cell of these whole rows in one line and without a quote inside? False also for a quote within an
// unquoted cell. If the quotes are simple, each line break ends a row.
bool has_simple_quotes(std::string_view rows, char delimiter);

}  // namespace ddp::tables
