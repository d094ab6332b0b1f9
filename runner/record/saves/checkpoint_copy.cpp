#include "record/saves/checkpoint_copy.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <cerrno>
#include <system_error>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "record/file/atomic_file.h"
#include "record/saves/checkpoint_index.h"
#include "record/saves/retention.h"

namespace ddp::record {
namespace fs = std::filesystem;
namespace {

// Makes a second file that shares the bytes until one of the two changes; Btrfs, XFS and others support this.
bool clone_file(const fs::path& from, const fs::path& to) {
  const FileDescriptor in(open(from.c_str(), O_RDONLY | O_CLOEXEC));
  const FileDescriptor out(open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (in && out && ioctl(out.get(), FICLONE, in.get()) == 0 && fsync(out.get()) == 0) return true;
  if (out) unlink(to.c_str());
  return false;
}

void copy_bytes(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::copy_file(from, to, error);
  if (error) throw usage_error("cannot be copied to " + to.string() + ": " + error.message(), from.string());
  const FileDescriptor copy(open(to.c_str(), O_RDONLY | O_CLOEXEC));
  if (!copy || fsync(copy.get()) != 0) throw usage_error("cannot be written: " + errno_text(errno), to.string());
}

// A checkpoint's files never change, so a hard link is as good as a copy.
void copy_or_share(const fs::path& from, const fs::path& to) {
  if (clone_file(from, to) || link(from.c_str(), to.c_str()) == 0) return;
  copy_bytes(from, to);
}

void copy_files(const fs::path& checkpoint, const fs::path& to) {
  std::error_code error;
  fs::remove_all(to, error);
  if (!fs::create_directories(to, error)) throw usage_error("cannot make the folder: " + error.message(), to.string());
  fs::directory_iterator entry(checkpoint, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code unreadable;
    if (entry->is_regular_file(unreadable)) copy_or_share(entry->path(), to / entry->path().filename());
  }
  if (error) throw usage_error("cannot be read: " + error.message(), checkpoint.string());
  sync_folder(to);
  // The source run may still train and remove old checkpoints, perhaps this one during the copy.
  if (const std::string damage = damage_of(to); !damage.empty()) {
    throw usage_error("its copy is damaged: " + damage, checkpoint.string(),
                      "try again, or take another checkpoint with --from");
  }
}

}  // namespace

fs::path copy_checkpoint(const fs::path& checkpoint, const fs::path& checkpoints) {
  const fs::path copy = checkpoints / checkpoint.filename();
  const fs::path unfinished = checkpoints / ("." + copy.filename().string() + kUnfinished);
  try {
    copy_files(checkpoint, unfinished);
    std::error_code error;
    fs::rename(unfinished, copy, error);
    if (error) throw usage_error("cannot be put in place: " + error.message(), copy.string());
    link_atomically(checkpoints / "latest", copy.filename().string());
    sync_folder(checkpoints);
  } catch (const Error& error) {
    std::error_code ignored;
    fs::remove_all(unfinished, ignored);
    throw usage_error(error.summary(), error.where(), error.remedy());
  }
  return copy;
}

}  // namespace ddp::record
