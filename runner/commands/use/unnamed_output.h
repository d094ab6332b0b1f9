#pragma once

#include <filesystem>

#include "base/file_descriptor.h"

namespace ddp::commands {

// A file that gets its name when it is whole, and then replaces one that has it. Until then it has none where the file
// system allows it, so that even a kill leaves nothing; else its name ends in .tmp.
class UnnamedOutput {
 public:
  // Throws ddp::Error (usage) where such a file cannot be written.
  explicit UnnamedOutput(const std::filesystem::path& file);
  ~UnnamedOutput();
  UnnamedOutput(const UnnamedOutput&) = delete;
  UnnamedOutput& operator=(const UnnamedOutput&) = delete;

  int descriptor() const { return descriptor_.get(); }
  // Throws ddp::Error (training) where the disk does not take it.
  void put_in_place();

 private:
  void name();

  const std::filesystem::path file_;
  const std::filesystem::path unfinished_;
  FileDescriptor descriptor_;
  bool has_name_ = false;  // unfinished_
};

}  // namespace ddp::commands
