#include "record/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "base/file_descriptor.h"

namespace ddp::record {
namespace fs = std::filesystem;

void write_atomically(const fs::path& file, const std::string& text) {
  fs::path temporary = file;
  temporary += ".tmp";
  FileDescriptor out(open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!out) throw training_error("cannot create: " + errno_text(errno), temporary.string());
  write_all(out.get(), text.data(), text.size(), temporary.string());
  if (fsync(out.get()) != 0) throw training_error("cannot write to disk: " + errno_text(errno), temporary.string());
  out.close();
  if (rename(temporary.c_str(), file.c_str()) != 0) {
    throw training_error("cannot put in place: " + errno_text(errno), file.string());
  }
}

void link_atomically(const fs::path& link, const std::string& target) {
  // A name of its own: runs that start at the same moment link the same name.
  static std::atomic<int> count{0};
  fs::path temporary = link;
  temporary += ".tmp-" + std::to_string(getpid()) + "-" + std::to_string(++count);
  unlink(temporary.c_str());
  if (symlink(target.c_str(), temporary.c_str()) == 0 && rename(temporary.c_str(), link.c_str()) == 0) return;
  const int error = errno;
  unlink(temporary.c_str());
  throw training_error("cannot link: " + errno_text(error), link.string());
}

void sync_folder(const fs::path& folder) {
  FileDescriptor handle(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!handle || fsync(handle.get()) != 0) {
    throw training_error("cannot write to disk: " + errno_text(errno), folder.string());
  }
}

std::string read_text(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) {
    if (in && fs::is_regular_file(file) && fs::file_size(file) == 0) return "";
    throw usage_error("cannot be read", file.string());
  }
  return text.str();
}

}  // namespace ddp::record
