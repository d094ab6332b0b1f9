#include "launch/plugin/cache_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/installation.h"
#include "base/paths.h"

namespace ddp::launch {
namespace fs = std::filesystem;

fs::path plugin_cache() {
  const fs::path cache = cache_folder() / "plugins";
  constexpr const char* kRemedy = "set XDG_CACHE_HOME to a folder that can be written";
  if (cache.is_relative()) throw usage_error("there is no home folder to keep compiled sources in", "HOME", kRemedy);
  try {
    paths::make_folders(cache);
  } catch (const Error& error) {
    throw usage_error(error.summary(), error.where(), kRemedy);
  }
  return cache;
}

FileDescriptor lock_file(const fs::path& file) {
  FileDescriptor lock(open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  while (lock && flock(lock.get(), LOCK_EX) != 0) {
    if (errno != EINTR) lock.close();
  }
  if (!lock) {
    throw usage_error("cannot be locked: " + errno_text(errno), file.string(),
                      "set XDG_CACHE_HOME to a folder that can be written");
  }
  return lock;
}

UnfinishedFolder::UnfinishedFolder(fs::path path) : path_(std::move(path)) {
  paths::remove_all(path_);
  paths::make_folders(path_);
}

UnfinishedFolder::~UnfinishedFolder() {
  std::error_code gone;
  fs::remove_all(path_, gone);
}

void remove_oldest_folders(const fs::path& cache, const std::string& prefix, std::size_t kept) {
  std::vector<std::pair<fs::file_time_type, fs::path>> folders;
  for (const fs::path& entry : paths::entries(cache)) {
    std::error_code gone;
    if (!entry.filename().string().starts_with(prefix) || !entry.extension().empty()) continue;
    if (fs::is_directory(entry, gone)) folders.emplace_back(fs::last_write_time(entry, gone), entry);
  }
  if (folders.size() <= kept) return;
  std::sort(folders.begin(), folders.end());
  for (std::size_t i = 0; i < folders.size() - kept; ++i) {
    std::error_code gone;
    fs::remove_all(folders[i].second, gone);
  }
}

}  // namespace ddp::launch
