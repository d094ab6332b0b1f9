#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <arrow/buffer.h>

#include "tables/source.h"

namespace ddp::tables {

// Reads a text file line by line, for uses that need line numbers. A byte order mark is no part of the first line.
class TextLines {
 public:
  TextLines(const std::filesystem::path& file, const format::TableOptions& options, const Span& span = {});

  // Reads the next line that is not empty. Returns false at the end. Throws ddp::Error (usage) if the file cannot be
  // read or a line is larger than 64 MB.
  bool next(std::string& line);

  std::int64_t number() const { return number_; }  // of the last line, from 1
  // Where the last line begins, and where the next one does, in bytes.
  std::int64_t begin() const { return begin_; }
  std::int64_t end() const { return before_piece_ + at_; }

 private:
  bool refill();

  const std::filesystem::path file_;
  std::shared_ptr<arrow::io::InputStream> stream_;
  std::shared_ptr<arrow::Buffer> piece_;
  std::int64_t before_piece_ = 0;
  std::int64_t at_ = 0;
  std::int64_t begin_ = 0;
  std::int64_t number_ = 0;
};

// Words of Python's json.dumps that JSON does not have.
inline constexpr std::string_view kNan = "NaN";
inline constexpr std::string_view kInfinity = "Infinity";

// Replaces NaN, Infinity and -Infinity by null, outside of texts.
std::string standard_json(std::string_view line);

}  // namespace ddp::tables
