#include "base/file_descriptor.h"

#include <unistd.h>
#include <cerrno>
#include <system_error>

#include "base/error.h"
#include "base/own_command.h"

namespace ddp {

void FileDescriptor::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

std::string errno_text(int error) { return std::generic_category().message(error); }

std::string remedy_for_write(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "free space on this disk, and then repeat the command; a run continues with `" +
             own_command("resume RUN") + "`";
    case EROFS:
    case EACCES:
    case EPERM:
      return "make the folder writable, or name another one; for results: --results DIR";
    case ENOENT:
    case ENOTDIR:
      return "make the folder first, or name another one; for results: --results DIR";
    default:
      return "";
  }
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

}  // namespace ddp
