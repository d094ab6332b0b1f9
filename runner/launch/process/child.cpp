#include "launch/process/child.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/paths.h"
#include "launch/process/program.h"
#include "launch/process/stop_signals.h"

namespace ddp::launch {
namespace {

void close_all_but(std::vector<int> kept) {
  std::sort(kept.begin(), kept.end());
  unsigned first = 3;
  for (const int fd : kept) {
    if (fd < static_cast<int>(first)) continue;
    if (fd > static_cast<int>(first)) syscall(SYS_close_range, first, fd - 1, 0);
    first = static_cast<unsigned>(fd) + 1;
  }
  syscall(SYS_close_range, first, ~0u, 0);
}

void redirect(const ChildSetup& setup) {
  const int in = open("/dev/null", O_RDONLY);
  const char* file = setup.log.empty() ? "/dev/null" : setup.log.c_str();
  // Opening a FIFO would block without O_NONBLOCK, which has no effect on a regular file.
  int out = setup.log.empty() && setup.output >= 0 ? setup.output
                                                   : open(file, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK, 0644);
  if (out < 0) out = STDERR_FILENO;  // stdout is for results
  if (in >= 0) dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  log::forget_dropped();
}

// Sets up the child before any code of the rank runs.
void become_child(const ChildSetup& setup, pid_t parent) {
  redirect(setup);
  close_all_but(setup.descriptors);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // the parent ended before PR_SET_PDEATHSIG was set
  prctl(PR_SET_PTRACER, parent);      // its gdb may read this process's stacks if it hangs
  if (setup.supervises) {
    setpgid(0, 0);
    return;
  }
  for (const int signal : kStopSignals) ::signal(signal, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

void require_one_thread() {
  if (paths::entries("/proc/self/task").size() != 1) {
    throw training_error("this process has several threads and must not fork", "launch",
                         "this is a bug: please report it");
  }
}

// Returns the end of a file's text.
std::string last_words(int file) {
  char text[1024];
  const off_t size = lseek(file, 0, SEEK_END);
  const ssize_t taken = pread(file, text, sizeof text, std::max<off_t>(0, size - static_cast<off_t>(sizeof text)));
  std::string words(text, static_cast<std::size_t>(std::max<ssize_t>(0, taken)));
  words.erase(0, words.find_first_not_of('\n'));
  while (words.ends_with('\n')) words.pop_back();
  return words.empty() ? "it gave no reason" : words;
}

}  // namespace

Child fork_child(const ChildSetup& setup, const std::function<int()>& body) {
  require_one_thread();
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    const int error = errno;
    throw training_error("cannot start a process: " + (error == EAGAIN ? task_limit() : errno_text(error)));
  }
  if (pid == 0) {
    become_child(setup, parent);
    // _exit, not exit: destructors and atexit handlers belong to the parent's state. No exception may reach its frames,
    // either.
    int code = 1;
    try {
      code = body();
    } catch (const std::exception& error) {
      log::error(as_error(error).what());
    }
    _exit(code);
  }
  Child child{.pid = pid, .pidfd = FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)))};
  if (!child.pidfd) {
    const int error = errno;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    throw training_error("cannot watch a process: " + errno_text(error));
  }
  return child;
}

AskedChild::AskedChild(std::string what, std::vector<int> kept, const std::function<void(int pipe)>& body)
    : what_(std::move(what)), said_(memfd_create("said", MFD_CLOEXEC)) {
  Pipe pipe = make_pipe();
  kept.push_back(pipe.to.get());
  child_ = fork_child({.descriptors = std::move(kept), .output = said_.get()}, [&] {
    body(pipe.to.get());
    return 0;
  });
  from_ = std::move(pipe.from);
}

AskedChild::~AskedChild() {
  if (child_.pid < 0) return;
  kill(child_.pid, SIGKILL);
  // A child in a call that hangs ends only with the call: nobody waits for that.
  waitpid(child_.pid, nullptr, WNOHANG);
}

bool AskedChild::has_more(std::chrono::steady_clock::time_point deadline) const {
  for (;;) {
    pollfd readable{from_.get(), POLLIN, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const int ready = poll(&readable, 1, std::max(0, static_cast<int>(left.count())));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

std::optional<std::string> AskedChild::answer(std::optional<std::chrono::steady_clock::time_point> deadline) {
  char piece[4096];
  for (;;) {
    if (deadline && !has_more(*deadline)) return {};
    const ssize_t size = read(from_.get(), piece, sizeof piece);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    text_.append(piece, static_cast<std::size_t>(size));
  }
  int status = 0;
  rusage used{};
  wait4(std::exchange(child_.pid, -1), &status, 0, &used);
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const std::string limit = cpu_time_limit(signal, used);
    throw training_error(what_ + " ended by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")" +
                         (limit.empty() ? "" : ": " + limit));
  }
  if (WEXITSTATUS(status) != 0) {
    const std::string words = last_words(said_.get());
    throw training_error(what_ + " failed: " + words + task_limit_behind(words));
  }
  return std::move(text_);
}

std::string ask_child(const std::string& what, std::vector<int> kept, const std::function<void(int pipe)>& body) {
  return *AskedChild(what, std::move(kept), body).answer();
}

}  // namespace ddp::launch
