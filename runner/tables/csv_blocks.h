#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include <arrow/io/interfaces.h>
#include <arrow/util/delimiting.h>

namespace ddp::tables {

// Whole rows of a CSV file, as bytes.
struct CsvBlock {
  std::shared_ptr<arrow::Buffer> bytes;
  bool last = false;  // the last block: its last row may lack a line break, or end inside of quotes
};

// Splits a CSV file into blocks of whole rows, about 2 MB each. Line breaks inside of quotes do not end a row.
class CsvBlocks {
 public:
  // Skips the first `begin` bytes of the file.
  CsvBlocks(const std::filesystem::path& file, char delimiter, std::int64_t begin);

  // Reads the next rows. Returns false at the end. Throws ddp::Error (usage) if the file cannot be read, a row is
  // larger than kLargestCsvRow, or the last cell is quoted but not closed.
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

}  // namespace ddp::tables
