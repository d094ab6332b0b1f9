#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "record/file/input_file.h"

namespace ddp::record {

// The lines of a file of any size, one by one; the memory is one block. Skips and counts lines longer than `longest`
// bytes: no run writes them. Also skips, without counting, the text behind the last newline: a run is still writing it.
class LineReader {
 public:
  static constexpr std::size_t kLongest = 64 << 10;

  // Throws ddp::Error (training) if the file cannot be opened; next() throws it if a read fails.
  explicit LineReader(const std::filesystem::path& file, std::size_t longest = kLongest)
      : in_(file), longest_(longest) {}

  // Returns the next line without its newline, valid until the next call.
  std::optional<std::string_view> next();
  std::int64_t passed_over() const { return passed_over_; }
  // After the last line: the text behind the last newline.
  std::string_view rest() const {
    return inside_long_line_ ? std::string_view() : std::string_view(block_).substr(begin_);
  }

 private:
  bool fill();

  const InputFile in_;
  const std::size_t longest_;
  std::uint64_t offset_ = 0;  // of the first byte that is not in block_ yet
  std::string block_;
  std::size_t begin_ = 0;  // of the first byte that next() has not returned yet
  bool inside_long_line_ = false;
  std::int64_t passed_over_ = 0;
};

}  // namespace ddp::record
