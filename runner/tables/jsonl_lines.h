#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <arrow/io/interfaces.h>
#include <arrow/type.h>

namespace ddp::tables {

// Reads a text file line by line, for uses that need line numbers. A byte order mark is no part of the first line.
class TextLines {
 public:
  explicit TextLines(const std::filesystem::path& file);

  // Reads the next line that is not empty. Returns false at the end. Throws ddp::Error (usage) if the file cannot be
  // read or a line is larger than 64 MB.
  bool next(std::string& line);

  std::int64_t number() const { return number_; }  // of the last line, from 1
  bool begins_with_mark() const { return begins_with_mark_; }

 private:
  bool refill();

  const std::filesystem::path file_;
  std::shared_ptr<arrow::io::InputStream> stream_;
  std::shared_ptr<arrow::Buffer> piece_;
  std::int64_t at_ = 0;
  std::int64_t number_ = 0;
  bool begins_with_mark_ = false;
};

// Replaces NaN, Infinity and -Infinity by null, outside of texts: Python's json.dumps writes these words, which JSON
// does not have.
std::string standard_json(std::string_view line);

// The content of a file of JSON lines, from a pass over all its lines.
struct JsonlContent {
  // All keys in the order of their first lines, each with the type of its first cell that is not null. A column of
  // whole numbers that also has others is one of doubles.
  std::shared_ptr<arrow::Schema> schema;
  std::map<std::string, std::int64_t> infinite = {};  // the first line in which a key is Infinity or -Infinity
  bool is_standard = true;                            // no byte order mark, NaN or Infinity
};

// Throws ddp::Error (usage) if a line is not a JSON object. Memory is proportional to the number of keys.
JsonlContent jsonl_content(const std::filesystem::path& file);

// The bytes of a file of JSON lines as standard JSON, in which Infinity is null.
std::shared_ptr<arrow::io::InputStream> open_jsonl_text(const std::filesystem::path& file, const JsonlContent& content);

}  // namespace ddp::tables
