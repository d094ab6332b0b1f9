#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "record/file/input_file.h"

namespace ddp::tensorboard {

// Appends a record of an event file (TFRecord): its length (8 bytes, little-endian), the length's checksum, the bytes,
// the bytes' checksum. The checksums are CRC-32C, rotated and offset.
void append_record(std::string& file, std::string_view record);

// CRC-32C (Castagnoli), from RFC 3720.
std::uint32_t crc32c(std::string_view bytes);

// The records of a file, one by one, up to its end or the first damaged or incomplete record.
class RecordReader {
 public:
  // Throws ddp::Error (training) if the file cannot be opened.
  explicit RecordReader(const std::filesystem::path& file) : file_(file) {}

  // Returns the next record, valid until the next call. Throws ddp::Error (training) if the file cannot be read.
  std::optional<std::string_view> next();

 private:
  // Returns the next `size` bytes, or nothing if the file has fewer. Invalidates earlier results.
  std::optional<std::string_view> take(std::size_t size);

  record::InputFile file_;
  std::uint64_t read_ = 0;  // bytes read from the file
  std::string buffer_;
  std::size_t used_ = 0;  // bytes taken from the buffer
};

}  // namespace ddp::tensorboard
