#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include "base/error.h"

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

// Returns whether the lock is still the file with this name: another process may have removed the opened file while it
// held the lock, and then other processes lock a new one.
bool is_current(const FileDescriptor& lock, const std::filesystem::path& file);

// Returns the text of errno for an error message: "No space left on device".
std::string errno_text(int error);

// Returns the remedy for an errno of a failed write: for a full disk; else "".
std::string remedy_for_write(int error);

// Writes all bytes, despite EINTR and short writes. Throws ddp::Error (training).
void write_all(int fd, const void* data, std::size_t size, const std::string& name);

// The process at the other end of a pipe has ended. This is a consequence of its end, not the cause of a failure.
class OtherEndGone : public Error {
 public:
  OtherEndGone() : Error(Fault::training, "the process at the other end is gone", "pipe") {}
};

// Blocks of bytes through a pipe: their size (8 bytes), then the bytes. Size 0 ends the stream. Each function throws
// OtherEndGone if the other process has ended; SIGPIPE must be ignored.
void write_block(int pipe, const void* data, std::uint64_t size);
void end_blocks(int pipe);
// Returns false at the end of the stream.
bool read_block(int pipe, std::string& block);

// Enlarges the pipe's buffer to 1 MiB if the system allows it: both ends wait less.
void widen_pipe(int pipe);

}  // namespace ddp
