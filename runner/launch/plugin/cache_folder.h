#pragma once

#include <filesystem>
#include <string>

#include "base/file_descriptor.h"

// The folder "plugins" of the cache folder: what compilers made, and locks, so that of several processes one compiles.
namespace ddp::launch {

// Makes the folder. Throws ddp::Error (usage) where it cannot be written.
std::filesystem::path plugin_cache();

// Returns the lock of an entry of the cache, NAME.lock, once no other process has it. Throws ddp::Error (usage).
FileDescriptor lock_entry(const std::filesystem::path& entry);

// Removes what killed processes left: each NAME.lock that nobody has, with NAME.tmp and NAME.headers.tmp.
void remove_unfinished(const std::filesystem::path& cache);

// The folder of an entry while it is filled, under the entry's lock: NAME.tmp. It goes with this, unless it was
// renamed.
class UnfinishedFolder {
 public:
  explicit UnfinishedFolder(const std::filesystem::path& entry);
  ~UnfinishedFolder();
  UnfinishedFolder(const UnfinishedFolder&) = delete;
  UnfinishedFolder& operator=(const UnfinishedFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  const std::filesystem::path path_;
};

// Notes that an entry is used now: those that are used least go first.
void note_use(const std::filesystem::path& entry);
// Removes the entries whose names begin and end so but for the newest.
void remove_oldest(const std::filesystem::path& cache, const std::string& prefix, const std::string& extension,
                   std::size_t kept);

}  // namespace ddp::launch
