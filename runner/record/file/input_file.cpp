#include "record/file/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>

#include "base/error.h"

namespace ddp::record {
namespace {

// On some file systems a signal interrupts open().
int open_to_read(const std::filesystem::path& file) {
  for (;;) {
    const int opened = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (opened >= 0 || errno != EINTR) return opened;
  }
}

}  // namespace

InputFile::InputFile(const std::filesystem::path& file) : name_(file.string()), file_(open_to_read(file)) {
  struct stat status {};
  if (!file_ || fstat(file_.get(), &status) != 0) throw training_error("cannot be read: " + errno_text(errno), name_);
  if (!S_ISREG(status.st_mode)) throw training_error("cannot be read: it is not a regular file", name_);
  size_ = static_cast<std::uint64_t>(status.st_size);
}

void InputFile::read(std::uint64_t offset, void* data, std::size_t size) const {
  char* next = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t taken = pread(file_.get(), next, size, static_cast<off_t>(offset));
    if (taken < 0 && errno == EINTR) continue;
    if (taken < 0) throw training_error("cannot be read: " + errno_text(errno), name_);
    if (taken == 0) throw training_error("cannot be read: it has become shorter", name_);
    next += taken;
    offset += static_cast<std::uint64_t>(taken);
    size -= static_cast<std::size_t>(taken);
  }
}

}  // namespace ddp::record
