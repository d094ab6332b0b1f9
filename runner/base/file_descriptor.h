#pragma once

#include <string>
#include <utility>

namespace ddp {

// Owns one open file descriptor; closes it.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~FileDescriptor() { close(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void close();

 private:
  int fd_ = -1;
};

// Returns the text of errno for an error message: "No space left on device".
std::string errno_text(int error);

// Returns the remedy for an errno of a failed write to a disk: "" if it needs another one than space or permission.
std::string remedy_for_write(int error);

// Writes all bytes, despite EINTR and short writes. Throws ddp::Error (training).
void write_all(int fd, const void* data, std::size_t size, const std::string& name);

}  // namespace ddp
