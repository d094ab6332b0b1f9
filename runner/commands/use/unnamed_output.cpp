#include "commands/use/unnamed_output.h"

#include <fcntl.h>
#include <unistd.h>
#include <cerrno>
#include <string>
#include <system_error>

#include "base/error.h"
#include "base/own_command.h"
#include "base/paths.h"

namespace ddp::commands {
namespace fs = std::filesystem;

UnnamedOutput::UnnamedOutput(const fs::path& file)
    : file_(paths::absolute(file)), unfinished_(file_.string() + "." + std::to_string(getpid()) + ".tmp") {
  require_folder_of(file);
  const fs::path folder = file_.parent_path();
  descriptor_ = FileDescriptor(open(folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0644));
  if (descriptor_) return;
  descriptor_ = FileDescriptor(open(unfinished_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!descriptor_) throw usage_error("cannot be written: " + errno_text(errno), file.string());
  has_name_ = true;
}

UnnamedOutput::~UnnamedOutput() {
  if (has_name_) unlink(unfinished_.c_str());
}

void UnnamedOutput::put_in_place() {
  if (fsync(descriptor_.get()) != 0) throw training_error("cannot be written: " + errno_text(errno), file_.string());
  if (!has_name_) name();
  paths::rename(unfinished_, file_);
  has_name_ = false;
}

// linkat() cannot replace an existing file.
void UnnamedOutput::name() {
  const std::string self = "/proc/self/fd/" + std::to_string(descriptor_.get());
  if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, unfinished_.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    throw training_error("cannot be written: " + errno_text(errno), unfinished_.string());
  }
  has_name_ = true;
}

void require_folder_of(const fs::path& output) {
  std::error_code none;
  const fs::path folder = paths::absolute(output).parent_path();
  if (fs::exists(folder, none)) return;
  throw usage_error("cannot be written: there is no such folder: " + folder.string(), output.string(),
                    "make it with: mkdir -p " + path_word(folder));
}

void refuse_folder(const fs::path& output, const std::string& file) {
  std::error_code none;
  if (!fs::is_directory(output, none)) return;
  throw usage_error("is a folder", output.string(), "give a file in it: " + path_word(output / file));
}

void refuse_input(const fs::path& output, const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    std::error_code none;
    if (fs::equivalent(input, output, none)) throw usage_error("is an input", output.string(), "use another name");
  }
}

}  // namespace ddp::commands
