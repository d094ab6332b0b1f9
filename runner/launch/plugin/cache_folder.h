#pragma once

#include <filesystem>
#include <string>

#include "base/file_descriptor.h"

// The folder "plugins" of the cache folder: what compilers made, and locks, so that of several processes one compiles.
namespace ddp::launch {

// Makes the folder. Throws ddp::Error (usage) where it cannot be written.
std::filesystem::path plugin_cache();

// Opens a lock, and waits until no other process has it. Throws ddp::Error (usage).
FileDescriptor lock_file(const std::filesystem::path& file);

// A folder that is filled under a lock. It goes with this, unless it was renamed; so does one that a process left which
// was killed.
class UnfinishedFolder {
 public:
  explicit UnfinishedFolder(std::filesystem::path path);
  ~UnfinishedFolder();
  UnfinishedFolder(const UnfinishedFolder&) = delete;
  UnfinishedFolder& operator=(const UnfinishedFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  const std::filesystem::path path_;
};

// Removes the folders whose names begin so but for the newest.
void remove_oldest_folders(const std::filesystem::path& cache, const std::string& prefix, std::size_t kept);

}  // namespace ddp::launch
