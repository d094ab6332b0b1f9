#pragma once

#include <filesystem>
#include <string>

#include "base/file_descriptor.h"

// The folder "plugins" of the cache folder: compiled files, and locks that let only one of several processes compile.
namespace ddp::launch {

// Creates the folder. Throws ddp::Error (usage) if it is not writable.
std::filesystem::path plugin_cache();

// Opens a lock file, and creates it if it does not exist.
FileDescriptor open_lock(const std::filesystem::path& file);

// Takes the lock of a cache entry, NAME.lock; waits while another process holds it. Throws ddp::Error (usage).
FileDescriptor lock_entry(const std::filesystem::path& entry);

// Removes the remains of killed processes: each NAME.lock that nobody holds, with NAME.tmp and NAME.headers.tmp.
void remove_unfinished(const std::filesystem::path& cache);

// The folder of an entry while it is filled, under the entry's lock: NAME.tmp. The destructor removes it unless it was
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

// Marks an entry as used now: the least recently used entries are removed first.
void note_use(const std::filesystem::path& entry);

}  // namespace ddp::launch
