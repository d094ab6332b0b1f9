#include "tables/csv_rows.h"

#include <cstddef>
#include <cstring>
#include <string_view>

#include <arrow/buffer.h>
#include <arrow/csv/chunker.h>

#include "base/error.h"

namespace ddp::tables {
namespace {

constexpr std::int64_t kPiece = 1 << 20;
constexpr int kEnd = -1;

bool is_line_end(int byte) { return byte == '\n' || byte == '\r'; }

constexpr std::int64_t kBlock = 2 << 20;

// A larger row is a mistake: a quoted cell is not closed, or the file is not a CSV file.
constexpr std::int64_t kLargestRow = 64 << 20;

Error too_large_row(const std::string& where) {
  return usage_error("a row is larger than 64 MB", where, "is this a CSV file, and are its quoted cells closed?");
}

// Returns the number of bytes of the whole rows in a block, if a simple scan finds them: no line break is quoted, and
// lines end in "\n". Returns 0 otherwise.
std::int64_t whole_lines(const arrow::Buffer& block, char delimiter) {
  const std::string_view bytes(block);
  const std::string_view lines = bytes.substr(0, bytes.rfind('\n') + 1);
  return has_simple_quotes(lines, delimiter) ? static_cast<std::int64_t>(lines.size()) : 0;
}

}  // namespace

bool has_simple_quotes(std::string_view rows, char delimiter) {
  const auto ends_cell = [&](char byte) { return byte == delimiter || byte == '\n' || byte == '\r'; };
  for (std::size_t at = 0; (at = rows.find('"', at)) != rows.npos;) {
    if (at > 0 && !ends_cell(rows[at - 1])) return false;
    do {
      if (++at == rows.size() || rows[at] == '\n' || rows[at] == '\r') return false;
    } while (rows[at] != '"');
    if (++at < rows.size() && !ends_cell(rows[at])) return false;
  }
  return true;
}

arrow::csv::ParseOptions csv_dialect(char delimiter) {
  arrow::csv::ParseOptions dialect;
  dialect.delimiter = delimiter;
  dialect.newlines_in_values = true;
  return dialect;
}

CsvRows::CsvRows(const std::filesystem::path& file, const format::TableOptions& options)
    : file_(file), delimiter_(options.delimiter), bytes_(open_stream(file, options)) {
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

bool CsvRows::next(CsvRow& row) {
  row.cells.clear();
  while (is_line_end(peek())) end_line(take());
  if (peek() == kEnd) return false;
  row.line = line_;
  for (std::int64_t size = 0;;) {
    CsvCell& cell = row.cells.emplace_back();
    cell.line = line_;
    cell.is_quoted = peek() == '"';
    if (cell.is_quoted) take();
    const auto where = [&] { return file_.string() + ":" + std::to_string(cell.line); };
    for (bool in_quotes = cell.is_quoted;;) {
      const int byte = take();
      if (in_quotes && byte == kEnd) {
        throw usage_error("a quoted cell begins here but is never closed", where(),
                          "double each quote inside of a quoted cell");
      }
      if (in_quotes && byte == '"' && peek() != '"') {
        in_quotes = false;
        continue;
      }
      if (in_quotes && byte == '"') take();
      if (in_quotes && (byte == '\n' || (byte == '\r' && peek() != '\n'))) ++line_;
      if (!in_quotes && byte == delimiter_) break;
      if (!in_quotes && (byte == kEnd || is_line_end(byte))) {
        if (byte != kEnd) end_line(byte);
        return true;
      }
      if (++size > kLargestRow) throw too_large_row(where());
      cell.text.push_back(static_cast<char>(byte));
    }
  }
}

CsvBlocks::CsvBlocks(const std::filesystem::path& file, const format::TableOptions& options, const Span& span)
    : file_(file),
      delimiter_(options.delimiter),
      chunker_(arrow::csv::MakeChunker(csv_dialect(options.delimiter))),
      bytes_(open_stream(file, options, span)),
      partial_(std::make_shared<arrow::Buffer>(nullptr, 0)) {}

// Arrow also ends a quoted cell at the end of the file. Checks that the last row is complete: then a line break ends
// it.
void CsvBlocks::require_closed(const arrow::Buffer& rest) {
  const auto size = static_cast<std::size_t>(rest.size());
  if (size == 0 || std::memchr(rest.data(), '"', size) == nullptr) return;
  std::shared_ptr<arrow::Buffer> ended = require(arrow::AllocateBuffer(rest.size() + 1), file_);
  std::memcpy(ended->mutable_data(), rest.data(), size);
  ended->mutable_data()[size] = '\n';
  std::shared_ptr<arrow::Buffer> whole, cut;
  require(chunker_->Process(ended, &whole, &cut), file_);
  if (cut->size() > 0) throw usage_error("ends in a quoted cell that is never closed", file_.string());
}

bool CsvBlocks::next(CsvBlock& block) {
  if (at_end_) return false;
  for (std::int64_t more = kBlock;; more *= 2) {
    const std::int64_t kept = partial_->size();
    std::shared_ptr<arrow::ResizableBuffer> bytes = require(arrow::AllocateResizableBuffer(kept + more), file_);
    if (kept > 0) std::memcpy(bytes->mutable_data(), partial_->data(), static_cast<std::size_t>(kept));
    const std::int64_t got = require(bytes_->Read(more, bytes->mutable_data() + kept), file_);
    require(bytes->Resize(kept + got, /*shrink_to_fit=*/false), file_);
    if (got == 0) {
      at_end_ = true;
      require_closed(*bytes);
      block = {.bytes = std::move(bytes), .last = true};
      return kept > 0;
    }
    if (const std::int64_t whole = whole_lines(*bytes, delimiter_); whole > 0) {
      block.bytes = arrow::SliceBuffer(bytes, 0, whole);
      partial_ = arrow::SliceBuffer(bytes, whole);
    } else {
      require(chunker_->Process(bytes, &block.bytes, &partial_), file_);
    }
    block.last = false;
    if (block.bytes->size() > 0) return true;
    if (partial_->size() > kLargestRow) throw too_large_row(file_.string());
  }
}

}  // namespace ddp::tables
