#include "launch/plan/device_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <cerrno>
#include <filesystem>

#include "base/error.h"
#include "base/log.h"
#include "base/safe_name.h"

namespace ddp::launch {
namespace {

constexpr const char* kFolder = "/tmp/ddp-exp.devices";

}  // namespace

FileDescriptor lock_device(const std::string& uuid) {
  const std::filesystem::path file = std::filesystem::path(kFolder) / (is_safe_name(uuid) ? uuid : "unnamed");
  // Like /tmp itself: everybody may create files, and nobody may remove another user's.
  if (mkdir(kFolder, 0777) == 0) chmod(kFolder, 01777);
  constexpr int kHow = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  FileDescriptor lock(open(file.c_str(), kHow));
  // Only if it does not exist: in such a folder, O_CREAT may not open another user's file.
  if (!lock && errno == ENOENT) lock = FileDescriptor(open(file.c_str(), kHow | O_CREAT, 0444));
  if (!lock && errno == EACCES) lock = FileDescriptor(open(file.c_str(), kHow));
  if (!lock) throw training_error("cannot lock a GPU: " + errno_text(errno), file.string());
  if (flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  return {};
}

std::vector<FileDescriptor> lock_devices(const Plan& plan) {
  std::vector<FileDescriptor> locks;
  for (const auto& group : plan.groups) {
    for (const auto& device : group) {
      if (device == "cpu") continue;
      FileDescriptor lock = lock_device(plan.gpus.at(std::stoul(device.substr(5))).uuid);
      if (lock) {
        locks.push_back(std::move(lock));
      } else {
        log::warn("another ddp-exp command uses " + device + ", too: both will be slower, or run out of its memory");
      }
    }
  }
  return locks;
}

}  // namespace ddp::launch
