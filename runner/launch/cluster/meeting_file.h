#pragma once

#include <unistd.h>
#include <string>
#include <utility>

namespace ddp::launch {

// A file that ranks or nodes meet in; it goes with this. c10d's FileStore (FileStore.cpp, ~FileStore) removes its own
// too, but not where a rank was killed, nor where its last users leave at the same time.
class MeetingFile {
 public:
  MeetingFile() = default;  // none
  explicit MeetingFile(std::string path) : path_(std::move(path)) {}
  MeetingFile(MeetingFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  MeetingFile& operator=(MeetingFile&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~MeetingFile() {
    if (!path_.empty()) unlink(path_.c_str());
  }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace ddp::launch
