#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/file_descriptor.h"

namespace ddp::record {

// A regular file to read from. Others are refused: who opens a pipe waits, and a device may have no end.
class InputFile {
 public:
  // Throws ddp::Error (training) where it cannot be opened.
  explicit InputFile(const std::filesystem::path& file);

  // As it was when it was opened.
  std::uint64_t size() const { return size_; }
  // It stays open for as long as this lives.
  int descriptor() const { return file_.get(); }
  // These bytes of it. Throws ddp::Error (training) where they cannot be had.
  void read(std::uint64_t offset, void* data, std::size_t size) const;

 private:
  const std::string name_;
  FileDescriptor file_;
  std::uint64_t size_ = 0;
};

}  // namespace ddp::record
