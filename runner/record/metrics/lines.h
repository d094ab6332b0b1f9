#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "record/file/input_file.h"

namespace ddp::record {

// The lines of a file of any size, one after the other, for the memory of one block. What no run writes is passed
// over and counted: a line that is longer than `longest` bytes. So is, without being counted, what stands behind the
// last newline: somebody is writing it.
class Lines {
 public:
  static constexpr std::size_t kLongest = 64 << 10;

  // Throws ddp::Error (training) where the file cannot be opened; next(), where it cannot be read on.
  explicit Lines(const std::filesystem::path& file, std::size_t longest = kLongest) : in_(file), longest_(longest) {}

  // The next one, without its newline, good until the next call.
  std::optional<std::string_view> next();
  std::int64_t passed_over() const { return passed_over_; }
  // After the last one: what stands behind the last newline.
  std::string_view rest() const {
    return inside_long_line_ ? std::string_view() : std::string_view(block_).substr(begin_);
  }

 private:
  bool fill();

  const InputFile in_;
  const std::size_t longest_;
  std::uint64_t offset_ = 0;  // of what is not in block_ yet
  std::string block_;
  std::size_t begin_ = 0;  // of what was not handed out yet
  bool inside_long_line_ = false;
  std::int64_t passed_over_ = 0;
};

}  // namespace ddp::record
