#include "tables/csv_rows.h"

#include <arrow/buffer.h>

#include "base/error.h"
#include "tables/source.h"

namespace ddp::tables {
namespace {

constexpr std::int64_t kPiece = 1 << 20;
constexpr int kEnd = -1;

bool is_line_end(int byte) { return byte == '\n' || byte == '\r'; }

}  // namespace

Error too_large_row(const std::string& where) {
  return usage_error("a row is larger than " + std::to_string(kLargestCsvRow >> 20) + " MB", where,
                     "is this a CSV file, and are its quoted cells closed?");
}

arrow::csv::ParseOptions csv_dialect(char delimiter) {
  arrow::csv::ParseOptions dialect;
  dialect.delimiter = delimiter;
  dialect.newlines_in_values = true;
  return dialect;
}

CsvRows::CsvRows(const std::filesystem::path& file, char delimiter)
    : file_(file), delimiter_(delimiter), bytes_(open_stream(file)) {
  if (peek() != kEnd && std::string_view(*piece_).starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
}

int CsvRows::peek() {
  if (piece_ == nullptr || at_ == piece_->size()) {
    before_piece_ += at_;
    at_ = 0;
    piece_ = require(bytes_->Read(kPiece), file_);
    if (piece_->size() == 0) return kEnd;
  }
  return piece_->data()[at_];
}

int CsvRows::take() {
  const int byte = peek();
  if (byte != kEnd) ++at_;
  return byte;
}

// Consumes the second half of "\r\n".
void CsvRows::end_line(int first) {
  if (first == '\r' && peek() == '\n') take();
  ++line_;
}

bool CsvRows::skip_empty_lines() {
  while (is_line_end(peek())) end_line(take());
  return peek() != kEnd;
}

void CsvRows::add(CsvCell& cell, int byte, std::size_t& row_size) {
  if (++row_size > static_cast<std::size_t>(kLargestCsvRow))
    throw too_large_row(file_.string() + ":" + std::to_string(cell.line));
  cell.text.push_back(static_cast<char>(byte));
}

// Reads from after the opening quote to after the closing quote.
void CsvRows::take_quoted(CsvCell& cell, std::size_t& row_size) {
  for (;;) {
    const int byte = take();
    if (byte == kEnd) {
      throw usage_error("a quoted cell begins here but is never closed",
                        file_.string() + ":" + std::to_string(cell.line), "double each quote inside of a quoted cell");
    }
    if (byte == '"') {
      if (peek() != '"') return;
      take();
    } else if (byte == '\n' || (byte == '\r' && peek() != '\n')) {
      ++line_;
    }
    add(cell, byte, row_size);
  }
}

// Returns the byte that ends the cell.
int CsvRows::take_cell(CsvCell& cell, std::size_t& row_size) {
  cell.line = line_;
  if (peek() == '"') {
    take();
    cell.is_quoted = true;
    take_quoted(cell, row_size);
  }
  for (;;) {
    const int byte = take();
    if (byte == kEnd || byte == delimiter_ || is_line_end(byte)) return byte;
    add(cell, byte, row_size);
  }
}

bool CsvRows::next(CsvRow& row) {
  row.cells.clear();
  if (!skip_empty_lines()) return false;
  row.line = line_;
  std::size_t row_size = 0;
  for (;;) {
    const int end = take_cell(row.cells.emplace_back(), row_size);
    if (end == delimiter_) continue;
    if (end != kEnd) end_line(end);
    return true;
  }
}

}  // namespace ddp::tables
