#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include <arrow/io/interfaces.h>
#include <arrow/type.h>

#include "config/value.h"

namespace ddp::tables {

// Reads a text file line by line, for uses that need line numbers more than speed.
class TextLines {
 public:
  explicit TextLines(const std::filesystem::path& file);

  // Reads the next line that is not empty. Returns false at the end. Throws ddp::Error (usage) if the file cannot be
  // read or a line is larger than 64 MB.
  bool next(std::string& line);

  std::int64_t number() const { return number_; }  // of the last line, from 1
  std::int64_t bytes() const { return bytes_; }    // read so far

 private:
  bool refill();

  const std::filesystem::path file_;
  std::shared_ptr<arrow::io::InputStream> stream_;
  std::shared_ptr<arrow::Buffer> piece_;
  std::int64_t at_ = 0;
  std::int64_t number_ = 0;
  std::int64_t bytes_ = 0;
};

// The type of a cell in JSON: bool, int64, double, text, list, struct or null.
std::shared_ptr<arrow::DataType> json_type(const config::Value& value);

// The columns of the first lines, in their order, each with the type of its first cells. A column that mixes numbers
// with text is a text column.
std::shared_ptr<arrow::Schema> jsonl_schema(const std::filesystem::path& file);

}  // namespace ddp::tables
