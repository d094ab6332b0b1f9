#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "base/file_descriptor.h"
#include "config/option/fields.h"

namespace ddp::record {

// A regular file, open for reading. Other kinds are refused: open() of a pipe waits for a writer, and a device may have
// no end.
class InputFile {
 public:
  // Throws ddp::Error (training) if the file cannot be opened.
  explicit InputFile(const std::filesystem::path& file);

  // The size when the file was opened.
  std::uint64_t size() const { return size_; }
  // The file descriptor; this object closes it.
  int descriptor() const { return file_.get(); }
  // Reads `size` bytes from `offset`. Throws ddp::Error (training) if they cannot be read.
  void read(std::uint64_t offset, void* data, std::size_t size) const;

 private:
  const std::string name_;
  FileDescriptor file_;
  std::uint64_t size_ = 0;
};

// The size and XXH3-64 of a file, as state.json records them.
struct Digest {
  std::uint64_t bytes = 0;
  std::string hash;
  bool operator==(const Digest&) const = default;
  void fields(config::Fields& f) {
    f({.name = "bytes"}, bytes);
    f({.name = "xxh3"}, hash);
  }
};

// Returns the XXH3-64 of the bytes as 16 hexadecimal digits. It detects damage, not an attack.
std::string hash_hex(const void* data, std::size_t size);
std::string hash_hex(const std::string& text);

// The same for a file, read piece by piece. Throws ddp::Error (training) if the file cannot be read.
std::string hash_hex_of(const std::filesystem::path& file);

}  // namespace ddp::record
