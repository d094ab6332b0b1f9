#include "tables/csv_blocks.h"

#include <cstring>
#include <string_view>

#include <arrow/buffer.h>
#include <arrow/csv/chunker.h>

#include "base/error.h"
#include "tables/csv_quotes.h"
#include "tables/csv_rows.h"
#include "tables/source.h"

namespace ddp::tables {
namespace {

constexpr std::int64_t kBlock = 2 << 20;

// Returns the number of bytes of the whole rows in a block, if a simple scan finds them: no line break is quoted, and
// lines end in "\n". Returns 0 otherwise.
std::int64_t whole_lines(const arrow::Buffer& block, char delimiter) {
  const std::string_view bytes(block);
  const std::string_view lines = bytes.substr(0, bytes.rfind('\n') + 1);
  return has_simple_quotes(lines, delimiter) ? static_cast<std::int64_t>(lines.size()) : 0;
}

}  // namespace

CsvBlocks::CsvBlocks(const std::filesystem::path& file, char delimiter, std::int64_t begin)
    : file_(file),
      delimiter_(delimiter),
      chunker_(arrow::csv::MakeChunker(csv_dialect(delimiter))),
      bytes_(open_stream(file)),
      partial_(std::make_shared<arrow::Buffer>(nullptr, 0)) {
  require(bytes_->Advance(begin), file_);
}

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
    if (partial_->size() > kLargestCsvRow) throw too_large_row(file_.string());
  }
}

}  // namespace ddp::tables
