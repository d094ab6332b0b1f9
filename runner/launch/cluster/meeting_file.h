#pragma once

#include <unistd.h>
#include <string>
#include <utility>

namespace ddp::launch {

// A file through which ranks or nodes meet; the destructor removes it. c10d's FileStore (FileStore.cpp, ~FileStore)
// also removes its own file, but not if a rank was killed, nor if its last users leave at the same time.
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
