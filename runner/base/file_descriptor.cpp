#include "base/file_descriptor.h"

#include <unistd.h>
#include <cerrno>
#include <system_error>

#include "base/error.h"

namespace ddp {

void FileDescriptor::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

std::string errno_text(int error) { return std::generic_category().message(error); }

void write_all(int fd, const void* data, std::size_t size, const std::string& name) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(fd, next, size);
    if (written < 0) {
      if (errno == EINTR) continue;
      throw training_error("cannot write: " + errno_text(errno), name);
    }
    next += written;
    size -= static_cast<std::size_t>(written);
  }
}

}  // namespace ddp
