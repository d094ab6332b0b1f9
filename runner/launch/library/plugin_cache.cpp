#include "launch/library/plugin_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/installation.h"
#include "base/paths.h"

namespace ddp::launch {
namespace fs = std::filesystem;
namespace {

constexpr const char* kLock = ".lock";
constexpr const char* kTemporary = ".tmp";

fs::path lock_of(const fs::path& entry) { return entry.string() + kLock; }
fs::path unfinished(const fs::path& entry) { return entry.string() + kTemporary; }

// The entry that a file belongs to: NAME for NAME.lock and NAME.headers.tmp.
fs::path owner_of(const fs::path& file) {
  const std::string name = file.filename().string();
  return file.parent_path() / name.substr(0, name.find('.'));
}

}  // namespace

FileDescriptor open_lock(const fs::path& file) {
  return FileDescriptor(open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
}

fs::path plugin_cache() {
  const fs::path cache = cache_folder() / "plugins";
  constexpr const char* kRemedy = "set XDG_CACHE_HOME to a folder that can be written";
  if (cache.is_relative()) throw usage_error("no home folder for compiled sources", "HOME", kRemedy);
  try {
    paths::make_folders(cache);
  } catch (const Error& error) {
    throw usage_error(error.summary(), error.where(), kRemedy);
  }
  return cache;
}

FileDescriptor lock_entry(const fs::path& entry) {
  const fs::path file = lock_of(entry);
  for (;;) {
    FileDescriptor lock = open_lock(file);
    while (lock && flock(lock.get(), LOCK_EX) != 0) {
      if (errno != EINTR) lock.close();
    }
    if (!lock) {
      throw usage_error("cannot be locked: " + errno_text(errno), file.string(),
                        "set XDG_CACHE_HOME to a folder that can be written");
    }
    if (is_current(lock, file)) return lock;
  }
}

void remove_unfinished(const fs::path& cache) {
  std::map<fs::path, std::vector<fs::path>> left;  // by the entry
  for (const fs::path& file : paths::entries(cache)) {
    if (file.extension() == kTemporary) left[owner_of(file)].push_back(file);
    if (file.extension() == kLock) left[owner_of(file)];
  }
  for (const auto& [entry, files] : left) {
    const fs::path lock_file = lock_of(entry);
    const FileDescriptor lock = open_lock(lock_file);
    if (!lock || flock(lock.get(), LOCK_EX | LOCK_NB) != 0 || !is_current(lock, lock_file)) continue;
    std::error_code gone;
    for (const fs::path& file : files) fs::remove_all(file, gone);
    fs::remove(lock_file, gone);
  }
}

UnfinishedFolder::UnfinishedFolder(const fs::path& entry) : path_(unfinished(entry)) {
  paths::remove_all(path_);
  paths::make_folders(path_);
}

UnfinishedFolder::~UnfinishedFolder() {
  std::error_code gone;
  fs::remove_all(path_, gone);
}

void note_use(const fs::path& entry) {
  std::error_code gone;
  fs::last_write_time(entry, fs::file_time_type::clock::now(), gone);
}

}  // namespace ddp::launch
