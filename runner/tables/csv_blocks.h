#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include <arrow/io/interfaces.h>
#include <arrow/util/delimiting.h>

namespace ddp::tables {

// Whole rows of a CSV, as bytes.
struct CsvBlock {
  std::shared_ptr<arrow::Buffer> bytes;
  bool last = false;  // what the file ends with: its row may lack a line break, or be cut off inside of quotes
};

// Cuts a CSV into blocks of whole rows, about 2 MB each; line breaks inside of quotes end no row.
class CsvBlocks {
 public:
  // `begin`: how many bytes of the file to leave out.
  CsvBlocks(const std::filesystem::path& file, char delimiter, std::int64_t begin);

  // Takes the next rows. Returns false at the end. Throws ddp::Error (usage) where the file cannot be read a row is
  // larger than kLargestCsvRow, or the last cell is quoted and never closed.
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
