#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "record/file/input_file.h"

namespace ddp::tensorboard {

// How an event file is cut into records (TFRecord): length (8 bytes, little-endian), its checksum, the bytes, theirs.
// The checksums are CRC-32C, rotated and offset.
void append_record(std::string& file, std::string_view record);

// CRC-32C (Castagnoli), of RFC 3720.
std::uint32_t crc32c(std::string_view bytes);

// The records of a file, one after the other, up to its end or the first that is damaged or not whole.
class RecordReader {
 public:
  // Throws ddp::Error (training) where it cannot be opened.
  explicit RecordReader(const std::filesystem::path& file) : file_(file) {}

  // Valid until the next call. Throws ddp::Error (training) where the file cannot be read.
  std::optional<std::string_view> next();

 private:
  // The next `size` bytes; nothing where there are less. What was returned before is gone.
  std::optional<std::string_view> take(std::size_t size);

  record::InputFile file_;
  std::uint64_t read_ = 0;  // bytes of the file that were read
  std::string buffer_;
  std::size_t used_ = 0;  // bytes of the buffer that were taken
};

}  // namespace ddp::tensorboard
