#include "runs/notify.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "base/error.h"
#include "base/log.h"
#include "base/paths.h"
#include "launch/process/child.h"
#include "launch/process/stop_signals.h"

namespace ddp::runs {
namespace {

void describe(const EndedRun& run) {
  setenv("DDP_RUN", paths::absolute(run.folder).c_str(), /*overwrite=*/1);
  setenv("DDP_NAME", run.name.c_str(), 1);
  setenv("DDP_STATUS", run.status.c_str(), 1);
  // Without an error it must not be that of another run, whose command started this one.
  unsetenv("DDP_REASON");
  if (!run.reason.empty()) setenv("DDP_REASON", run.reason.substr(0, run.reason.find('\n')).c_str(), 1);
}

int become_shell(const std::string& command, const EndedRun& run) {
  describe(run);
  // This process ignores these and blocks others; programs expect neither.
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  throw training_error("cannot be started: " + errno_text(errno), "/bin/sh");
}

// Waits for the child's end. Returns why it must be killed; empty: it has ended.
std::string wait_for(const launch::Child& child, std::chrono::milliseconds patience) {
  const sigset_t set = launch::stop_signal_set();
  const FileDescriptor signals(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  launch::StopSignals stops;
  stops.at_once(SIGINT);  // the end of the run counts as the first one: a batch system may send its echo now
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    pollfd watched[] = {{child.pidfd.get(), POLLIN, 0}, {signals.get(), POLLIN, 0}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (poll(watched, 2, std::max(0, static_cast<int>(left.count()))) == 0) return "did not end in time";
    if (watched[0].revents != 0) return "";
    signalfd_siginfo info{};
    while (read(signals.get(), &info, sizeof info) == sizeof info) {
      if (stops.at_once(static_cast<int>(info.ssi_signo))) return "was cut short";
    }
  }
}

}  // namespace

void notify(const config::Notify& notify, const EndedRun& run, std::chrono::milliseconds patience) try {
  if (!notify.command) return;
  const launch::BlockedStopSignals blocked;
  // A leader of a process group: what it starts can be killed with it.
  const launch::Child child = launch::fork_child({.descriptors = {}, .output = STDERR_FILENO, .supervises = true},
                                                 [&] { return become_shell(*notify.command, run); });
  std::string what = wait_for(child, patience);
  if (!what.empty()) {
    kill(child.pid, SIGKILL);  // also before it leads a group
    kill(-child.pid, SIGKILL);
    pollfd ended{child.pidfd.get(), POLLIN, 0};
    poll(&ended, 1, 1000);  // one in a call that hangs ends only with the call: nobody waits for that
  }
  int status = 0;
  waitpid(child.pid, &status, WNOHANG);
  if (what.empty() && WIFSIGNALED(status)) what = std::string("was killed by SIG") + sigabbrev_np(WTERMSIG(status));
  if (what.empty() && status != 0) what = "ended with exit code " + std::to_string(WEXITSTATUS(status));
  if (!what.empty()) log::warn("notify.command " + what + ": " + *notify.command);
} catch (const Error& error) {
  log::warn("notify.command was not run: " + std::string(error.what()));
}

}  // namespace ddp::runs
