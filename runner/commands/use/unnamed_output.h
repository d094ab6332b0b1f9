#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/file_descriptor.h"

namespace ddp::commands {

// A file that gets its name once it is complete, and then replaces a file of that name. Until then it has no name if
// the file system supports that: even a kill leaves nothing. Otherwise its temporary name ends in .tmp.
class UnnamedOutput {
 public:
  // Throws ddp::Error (usage) if the file cannot be written.
  explicit UnnamedOutput(const std::filesystem::path& file);
  ~UnnamedOutput();
  UnnamedOutput(const UnnamedOutput&) = delete;
  UnnamedOutput& operator=(const UnnamedOutput&) = delete;

  int descriptor() const { return descriptor_.get(); }
  // Throws ddp::Error (training) if the disk does not take the file.
  void put_in_place();

 private:
  void name();

  const std::filesystem::path file_;
  const std::filesystem::path unfinished_;
  FileDescriptor descriptor_;
  bool has_name_ = false;  // the name `unfinished_`
};

// Throws ddp::Error (usage) if the folder of an output does not exist.
void require_folder_of(const std::filesystem::path& output);

// Throws ddp::Error (usage) if the name of an output is the name of a folder. `file`: a name for the error's remedy.
void refuse_folder(const std::filesystem::path& output, const std::string& file);

// Throws ddp::Error (usage) if an output is one of the inputs: a slip of tab completion must not overwrite the data.
void refuse_input(const std::filesystem::path& output, const std::vector<std::string>& inputs);

}  // namespace ddp::commands
