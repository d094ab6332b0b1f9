#include "base/file_descriptor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <system_error>

#include "base/error.h"
#include "base/own_command.h"

namespace ddp {
namespace {

constexpr int kWide = 1 << 20;

void read_all(int pipe, char* data, std::uint64_t size) {
  while (size > 0) {
    const ssize_t taken = read(pipe, data, size);
    if (taken < 0 && errno == EINTR) continue;
    if (taken < 0) throw training_error("cannot be read: " + errno_text(errno), "pipe");
    if (taken == 0) throw OtherEndGone();
    data += taken;
    size -= static_cast<std::uint64_t>(taken);
  }
}

void put_all(int pipe, const void* data, std::uint64_t size) try {
  write_all(pipe, data, size, "pipe");
} catch (const Error&) {
  throw OtherEndGone();
}

}  // namespace

void FileDescriptor::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

bool is_current(const FileDescriptor& lock, const std::filesystem::path& file) {
  struct stat own {};
  struct stat named {};
  return fstat(lock.get(), &own) == 0 && lstat(file.c_str(), &named) == 0 && own.st_dev == named.st_dev &&
         own.st_ino == named.st_ino;
}

std::string errno_text(int error) { return std::generic_category().message(error); }

std::string remedy_for_write(int error) {
  if (error != ENOSPC && error != EDQUOT) return "";
  return "free space on this disk; a run continues with `" + own_command("resume RUN") + "`";
}

void write_all(int fd, const void* data, std::size_t size, const std::string& name) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(fd, next, size);
    if (written < 0) {
      if (errno == EINTR) continue;
      throw training_error("cannot write: " + errno_text(errno), name, remedy_for_write(errno));
    }
    next += written;
    size -= static_cast<std::size_t>(written);
  }
}

void write_block(int pipe, const void* data, std::uint64_t size) {
  put_all(pipe, &size, sizeof size);
  put_all(pipe, data, size);
}

void end_blocks(int pipe) {
  constexpr std::uint64_t kEnd = 0;
  put_all(pipe, &kEnd, sizeof kEnd);
}

bool read_block(int pipe, std::string& block) {
  std::uint64_t size = 0;
  read_all(pipe, reinterpret_cast<char*>(&size), sizeof size);
  block.resize(size);
  read_all(pipe, block.data(), size);
  return size > 0;
}

void widen_pipe(int pipe) { fcntl(pipe, F_SETPIPE_SZ, kWide); }

}  // namespace ddp
