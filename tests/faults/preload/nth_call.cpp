// Preloaded into ddp-exp: simulates a machine that fails at one moment. The nth call on files below a folder kills the
// process, fails, or writes only a part. The environment has the settings:
//
//   DDP_FAULT_ROOT   the folder, an absolute path; without it the library does nothing
//   DDP_FAULT_ROLE   the process whose calls count: "parent", or "rank-0", …: the fork that opens logs/rank-0.log
//   DDP_FAULT_CALLS  the counted calls: "change" (calls that change files, or could), or "all" (also calls that read)
//   DDP_FAULT_AT     the number of the first call that gets the fault, from 1; 0: none
//   DDP_FAULT_TIMES  the number of calls that get the fault from there on (1)
//   DDP_FAULT_DO     "kill", "short" (half of a write), or an errno
//   DDP_FAULT_LOG    a file that lists each counted call, or with DDP_FAULT_AT each call that gets the fault:
//                    "open checkpoints/.step-00000002.tmp/state.json"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

enum class Kind { change, look, write };

struct Settings {
  std::string root;
  std::string role;
  std::string log;
  bool all = false;
  bool kill = false;
  bool part = false;
  int error = 0;
  long at = 0;
  long times = 1;
};

// Null while constructors that run before this library's constructor make calls.
const Settings* settings = nullptr;
std::string* role = nullptr;  // the role of this process
std::atomic<long> counted{0};

std::string of_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void become_child() {
  *role = "child";
  counted = 0;
}

[[gnu::constructor]] void begin() {
  if (of_environment("DDP_FAULT_ROOT").empty()) return;
  const std::string what = of_environment("DDP_FAULT_DO");
  const std::string times = of_environment("DDP_FAULT_TIMES");
  role = new std::string("parent");
  settings = new Settings{.root = of_environment("DDP_FAULT_ROOT"),
                          .role = of_environment("DDP_FAULT_ROLE"),
                          .log = of_environment("DDP_FAULT_LOG"),
                          .all = of_environment("DDP_FAULT_CALLS") == "all",
                          .kill = what == "kill",
                          .part = what == "short",
                          .error = std::atoi(what.c_str()),
                          .at = std::atol(of_environment("DDP_FAULT_AT").c_str()),
                          .times = times.empty() ? 1 : std::stol(times)};
  pthread_atfork(nullptr, nullptr, become_child);
}

std::string path_of(int descriptor) {
  char target[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const long size = syscall(SYS_readlinkat, AT_FDCWD, link.c_str(), target, sizeof target);
  return size > 0 ? std::string(target, static_cast<std::size_t>(size)) : "";
}

std::string path_of(int folder, const char* name) {
  if (name == nullptr || name[0] == '/') return name == nullptr ? "" : name;
  char current[4096] = "";
  if (folder == AT_FDCWD) syscall(SYS_getcwd, current, sizeof current);
  return (folder == AT_FDCWD ? current : path_of(folder)) + "/" + name;
}

void write_down(const char* call, const std::string& path) {
  const std::string line =
      std::string(call) + " " + path.substr(std::min(path.size(), settings->root.size() + 1)) + "\n";
  const long out = syscall(SYS_openat, AT_FDCWD, settings->log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  syscall(SYS_write, out, line.data(), line.size());
  syscall(SYS_close, out);
}

// Returns true for a call of the chosen process on a file below the folder.
bool counts(const std::string& path, Kind kind) {
  if (path.compare(0, settings->root.size(), settings->root) != 0) return false;
  if (*role == "child") {
    if (const auto log = path.find("/logs/rank-"); log != std::string::npos) {
      *role = path.substr(log + 6, path.find('.', log) - log - 6);
    }
  }
  if (*role != settings->role || (kind == Kind::look && !settings->all)) return false;
  return !settings->part || kind == Kind::write;
}

// Counts a call. Returns true if the call gets the fault; errno is set then.
bool struck(const char* call, const std::string& path, Kind kind) {
  if (!counts(path, kind)) return false;
  const int before = errno;
  const long number = ++counted;
  const bool strikes = settings->at > 0 && number >= settings->at && number - settings->at < settings->times;
  if (!settings->log.empty() && strikes == (settings->at > 0)) write_down(call, path);
  errno = before;
  if (!strikes) return false;
  if (settings->kill) {
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;) pause();
  }
  if (!settings->part) errno = settings->error;
  return true;
}

bool struck(const char* call, int folder, const char* name, Kind kind) {
  return settings != nullptr && struck(call, path_of(folder, name), kind);
}

bool struck(const char* call, int descriptor, Kind kind) {
  return settings != nullptr && struck(call, path_of(descriptor), kind);
}

// The size of a partial write. Direct I/O writes whole blocks.
std::size_t part_of(int descriptor, std::size_t size) {
  const bool direct = (fcntl(descriptor, F_GETFL) & O_DIRECT) != 0;
  const std::size_t half = direct ? size / 2 / 4096 * 4096 : size / 2;
  return half > 0 ? half : size;
}

template <typename Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

mode_t mode_of(int flags, va_list list) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? static_cast<mode_t>(va_arg(list, int)) : 0;
}

Kind kind_of(int flags) { return (flags & O_ACCMODE) == O_RDONLY ? Kind::look : Kind::change; }

int open_as(const char* name, int folder, const char* path, int flags, mode_t mode) {
  static auto* const next = real<int(int, const char*, int, mode_t)>("openat");
  const Kind kind = kind_of(flags);
  if (struck(kind == Kind::look ? "open_to_read" : name, folder, path, kind)) return -1;
  return next(folder, path, flags, mode);
}

// Passes on the remaining arguments unchanged: the decision about the fault comes before.
#define DDP_ON_PATH(result, name, failed, kind, folder, path, parameters, arguments) \
  extern "C" result name parameters {                                                \
    static auto* const next = real<result parameters>(#name);                        \
    if (struck(#name, folder, path, kind)) return failed;                            \
    return next arguments;                                                           \
  }

#define DDP_ON_DESCRIPTOR(result, name, failed, kind, parameters, arguments) \
  extern "C" result name parameters {                                        \
    static auto* const next = real<result parameters>(#name);                \
    if (struck(#name, fd, kind)) return failed;                              \
    return next arguments;                                                   \
  }

#define DDP_WRITE(name, parameters, a_part, whole)             \
  extern "C" ssize_t name parameters {                         \
    static auto* const next = real<ssize_t parameters>(#name); \
    if (!struck(#name, fd, Kind::write)) return next whole;    \
    if (!settings->part) return -1;                            \
    return next a_part;                                        \
  }

}  // namespace

extern "C" int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = mode_of(flags, list);
  va_end(list);
  return open_as("open", AT_FDCWD, path, flags, mode);
}
extern "C" int open64(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = mode_of(flags, list);
  va_end(list);
  return open_as("open", AT_FDCWD, path, flags, mode);
}
extern "C" int openat(int folder, const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = mode_of(flags, list);
  va_end(list);
  return open_as("openat", folder, path, flags, mode);
}
extern "C" int openat64(int folder, const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = mode_of(flags, list);
  va_end(list);
  return open_as("openat", folder, path, flags, mode);
}

// A descriptor is closed even if close fails.
extern "C" int close(int fd) {
  static auto* const next = real<int(int)>("close");
  const bool fails = struck("close", fd, Kind::change);
  const int error = errno;
  const int result = next(fd);
  if (fails) errno = error;
  return fails ? -1 : result;
}

// On a fault it ends the listing early, as on a disk that cannot be read.
extern "C" dirent* readdir(DIR* folder) {
  static auto* const next = real<dirent*(DIR*)>("readdir");
  return struck("readdir", dirfd(folder), Kind::look) ? nullptr : next(folder);
}

extern "C" int posix_fallocate(int fd, off_t offset, off_t size) {
  static auto* const next = real<int(int, off_t, off_t)>("posix_fallocate");
  return struck("posix_fallocate", fd, Kind::change) ? settings->error : next(fd, offset, size);
}

DDP_WRITE(write, (int fd, const void* data, size_t size), (fd, data, part_of(fd, size)), (fd, data, size))
DDP_WRITE(pwrite, (int fd, const void* data, size_t size, off_t offset), (fd, data, part_of(fd, size), offset),
          (fd, data, size, offset))
DDP_WRITE(pwrite64, (int fd, const void* data, size_t size, off64_t offset), (fd, data, part_of(fd, size), offset),
          (fd, data, size, offset))
DDP_WRITE(writev, (int fd, const iovec* parts, int count), (fd, parts, std::max(1, count / 2)), (fd, parts, count))

DDP_ON_DESCRIPTOR(int, fsync, -1, Kind::change, (int fd), (fd))
DDP_ON_DESCRIPTOR(int, fdatasync, -1, Kind::change, (int fd), (fd))
DDP_ON_DESCRIPTOR(int, ftruncate, -1, Kind::change, (int fd, off_t size), (fd, size))
DDP_ON_DESCRIPTOR(int, ftruncate64, -1, Kind::change, (int fd, off64_t size), (fd, size))
DDP_ON_DESCRIPTOR(int, fallocate, -1, Kind::change, (int fd, int mode, off_t offset, off_t size),
                  (fd, mode, offset, size))
DDP_ON_DESCRIPTOR(int, fallocate64, -1, Kind::change, (int fd, int mode, off64_t offset, off64_t size),
                  (fd, mode, offset, size))
DDP_ON_DESCRIPTOR(int, sync_file_range, -1, Kind::change, (int fd, off64_t offset, off64_t size, unsigned int flags),
                  (fd, offset, size, flags))
DDP_ON_DESCRIPTOR(ssize_t, read, -1, Kind::look, (int fd, void* data, size_t size), (fd, data, size))
DDP_ON_DESCRIPTOR(ssize_t, pread, -1, Kind::look, (int fd, void* data, size_t size, off_t offset),
                  (fd, data, size, offset))
DDP_ON_DESCRIPTOR(ssize_t, pread64, -1, Kind::look, (int fd, void* data, size_t size, off64_t offset),
                  (fd, data, size, offset))
DDP_ON_DESCRIPTOR(int, fstat, -1, Kind::look, (int fd, struct stat* status), (fd, status))

DDP_ON_PATH(int, mkdir, -1, Kind::change, AT_FDCWD, path, (const char* path, mode_t mode), (path, mode))
DDP_ON_PATH(int, mkdirat, -1, Kind::change, fd, path, (int fd, const char* path, mode_t mode), (fd, path, mode))
DDP_ON_PATH(int, rmdir, -1, Kind::change, AT_FDCWD, path, (const char* path), (path))
DDP_ON_PATH(int, remove, -1, Kind::change, AT_FDCWD, path, (const char* path), (path))
DDP_ON_PATH(int, unlink, -1, Kind::change, AT_FDCWD, path, (const char* path), (path))
DDP_ON_PATH(int, unlinkat, -1, Kind::change, fd, path, (int fd, const char* path, int flags), (fd, path, flags))
DDP_ON_PATH(int, rename, -1, Kind::change, AT_FDCWD, path, (const char* path, const char* to), (path, to))
DDP_ON_PATH(int, renameat, -1, Kind::change, fd, path, (int fd, const char* path, int to_fd, const char* to),
            (fd, path, to_fd, to))
DDP_ON_PATH(int, renameat2, -1, Kind::change, fd, path,
            (int fd, const char* path, int to_fd, const char* to, unsigned int flags), (fd, path, to_fd, to, flags))
DDP_ON_PATH(int, symlink, -1, Kind::change, AT_FDCWD, path, (const char* to, const char* path), (to, path))
DDP_ON_PATH(int, symlinkat, -1, Kind::change, fd, path, (const char* to, int fd, const char* path), (to, fd, path))
DDP_ON_PATH(int, link, -1, Kind::change, AT_FDCWD, path, (const char* from, const char* path), (from, path))
DDP_ON_PATH(int, linkat, -1, Kind::change, fd, path,
            (int from_fd, const char* from, int fd, const char* path, int flags), (from_fd, from, fd, path, flags))
DDP_ON_PATH(ssize_t, readlink, -1, Kind::look, AT_FDCWD, path, (const char* path, char* text, size_t size),
            (path, text, size))
DDP_ON_PATH(int, stat, -1, Kind::look, AT_FDCWD, path, (const char* path, struct stat* status), (path, status))
DDP_ON_PATH(int, lstat, -1, Kind::look, AT_FDCWD, path, (const char* path, struct stat* status), (path, status))
DDP_ON_PATH(int, fstatat, -1, Kind::look, fd, path, (int fd, const char* path, struct stat* status, int flags),
            (fd, path, status, flags))
DDP_ON_PATH(DIR*, opendir, nullptr, Kind::look, AT_FDCWD, path, (const char* path), (path))
DDP_ON_PATH(FILE*, fopen, nullptr, Kind::look, AT_FDCWD, path, (const char* path, const char* mode), (path, mode))
DDP_ON_PATH(FILE*, fopen64, nullptr, Kind::look, AT_FDCWD, path, (const char* path, const char* mode), (path, mode))
