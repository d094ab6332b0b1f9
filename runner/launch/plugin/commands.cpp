#include "launch/plugin/commands.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/limits.h"
#include "launch/process/child.h"
#include "launch/process/stop_signals.h"
#include "launch/run/stopped.h"

namespace ddp::launch {
namespace {

// Replaces this process by the program; returns only if that fails.
int become(const std::vector<std::string>& command, const std::filesystem::path& temporary) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  setenv("TMPDIR", temporary.c_str(), 1);
  std::vector<char*> words;
  for (const auto& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words.front(), words.data());
  const std::string why = command.front() + ": " + errno_text(errno) + "\n";
  write_all(STDERR_FILENO, why.data(), why.size(), "stderr");
  return 127;
}

std::string text_in(int file) {
  std::string text(static_cast<std::size_t>(lseek(file, 0, SEEK_END)), '\0');
  const ssize_t size = pread(file, text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, size)));
  return text;
}

// The running commands. Each leads a process group, which the destructor kills.
class Running {
 public:
  Running(const std::vector<std::vector<std::string>>& commands, const std::filesystem::path& temporary)
      : commands_(commands), temporary_(temporary), ended_(commands.size()) {}
  ~Running() {
    for (const One& one : running_) {
      kill(-one.child.pid, SIGKILL);
      kill(one.child.pid, SIGKILL);  // it may not lead its group yet
      waitpid(one.child.pid, nullptr, 0);
    }
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  bool done() const { return running_.empty() && next_ == commands_.size(); }

  void start_some() {
    while (next_ < commands_.size() && static_cast<int>(running_.size()) < usable_cores()) {
      One one{.number = next_, .output = FileDescriptor(memfd_create("said", MFD_CLOEXEC)), .child = {}};
      if (!one.output) throw training_error("cannot keep a compiler's output: " + errno_text(errno));
      const auto& command = commands_[next_++];
      one.child = fork_child({.descriptors = {}, .output = one.output.get(), .supervises = true},
                             [&] { return become(command, temporary_); });
      running_.push_back(std::move(one));
    }
  }

  // Waits until a command ends, or until `signals` is readable.
  void wait(int signals) {
    std::vector<pollfd> watched{{.fd = signals, .events = POLLIN, .revents = 0}};
    for (const One& one : running_) watched.push_back({.fd = one.child.pidfd.get(), .events = POLLIN, .revents = 0});
    poll(watched.data(), watched.size(), -1);
    for (std::size_t i = watched.size() - 1; i > 0; --i) {
      if (watched[i].revents != 0) take(i - 1);
    }
  }

  std::vector<Ended> take_ended() { return std::move(ended_); }

 private:
  struct One {
    std::size_t number;
    FileDescriptor output;
    Child child;
  };

  void take(std::size_t place) {
    const One one = std::move(running_[place]);
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(place));
    int status = 0;
    waitpid(one.child.pid, &status, 0);
    ended_[one.number] = {.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status),
                          .output = text_in(one.output.get())};
  }

  const std::vector<std::vector<std::string>>& commands_;
  const std::filesystem::path& temporary_;
  std::vector<Ended> ended_;
  std::vector<One> running_;
  std::size_t next_ = 0;
};

}  // namespace

std::vector<Ended> run_commands(const std::vector<std::vector<std::string>>& commands,
                                const std::filesystem::path& temporary) {
  const BlockedStopSignals blocked;
  const sigset_t set = stop_signal_set();
  const FileDescriptor signals(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) throw training_error("cannot watch compilers: " + errno_text(errno));
  Running running(commands, temporary);
  while (!running.done()) {
    running.start_some();
    running.wait(signals.get());
    signalfd_siginfo heard{};
    if (read(signals.get(), &heard, sizeof heard) == sizeof heard) {
      throw Stopped(128 + static_cast<int>(heard.ssi_signo),
                    "stopped by a signal while compiling; nothing was started");
    }
  }
  return running.take_ended();
}

}  // namespace ddp::launch
