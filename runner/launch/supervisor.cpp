#include "launch/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/error.h"
#include "launch/live_line.h"

namespace ddp::launch {
namespace {

constexpr int kRefreshMilliseconds = 100;

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR2}) sigaddset(&set, signal);
  return set;
}

}  // namespace

Supervisor::Supervisor(record::ProgressPage& page, record::RunDirectory directory)
    : page_(page), directory_(std::move(directory)) {
  const sigset_t set = stop_signals();
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = FileDescriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  int ends[2];
  if (!signals_ || pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    throw training_error("cannot watch the ranks: " + errno_text(errno));
  }
  console_from_ = FileDescriptor(ends[0]);
  console_to_ = FileDescriptor(ends[1]);
  // A rank waits for room rather than lose a line; only the parent's end must never block.
  fcntl(ends[1], F_SETFL, fcntl(ends[1], F_GETFL) & ~O_NONBLOCK);
}

Supervisor::~Supervisor() {
  end_all();
  const sigset_t set = stop_signals();
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

void Supervisor::start(int rank, std::vector<int> kept, const std::function<int(int console)>& body) {
  const int console = console_to_.get();
  kept.push_back(console);
  ranks_.resize(std::max<std::size_t>(ranks_.size(), static_cast<std::size_t>(rank) + 1));
  ranks_[rank] =
      fork_child({.descriptors = std::move(kept), .log = directory_.log(rank).string()}, [&] { return body(console); });
}

void Supervisor::watch_also(int descriptor, std::function<bool()> readable) {
  also_ = descriptor;
  also_readable_ = std::move(readable);
}

bool Supervisor::any_running() const {
  return std::any_of(ranks_.begin(), ranks_.end(), [](const Child& rank) { return rank.pid > 0; });
}

Outcome Supervisor::watch() {
  console_to_.close();
  LiveLine live(page_);
  print_ = [&](const std::string& line) { live.print(line); };
  Outcome outcome;
  while (any_running()) {
    std::vector<pollfd> watched{{signals_.get(), POLLIN, 0}, {console_from_.get(), POLLIN, 0}, {also_, POLLIN, 0}};
    for (const auto& rank : ranks_) watched.push_back({rank.pid > 0 ? rank.pidfd.get() : -1, POLLIN, 0});
    poll(watched.data(), watched.size(), live.shown() ? kRefreshMilliseconds : -1);
    if (watched[0].revents != 0) handle_signal();
    // A closed pipe (all ranks gone) would be ready for ever; the ranks' ends are told by their pidfds.
    if (watched[1].revents & POLLIN) show_console();
    if (watched[2].revents != 0 && !also_readable_()) also_ = -1;
    reap();
    if (!outcome.failure && failed_) {
      outcome.failure = blame();
      end_all();
    }
    live.refresh();
  }
  show_console();
  outcome.stop_signal = stop_signal_;
  return outcome;
}

void Supervisor::handle_signal() {
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof info) == sizeof info) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (stop_signal_ != 0) {
      print_("stopping at once");
      end_all();
      continue;
    }
    stop_signal_ = signal;
    page_.stop_requested() = true;
    print_("stopping after this step, then saving (once more: at once, without saving)");
  }
}

void Supervisor::show_console() {
  char piece[4096];
  for (ssize_t size; (size = read(console_from_.get(), piece, sizeof piece)) > 0;) {
    console_text_.append(piece, static_cast<std::size_t>(size));
    for (std::size_t end; (end = console_text_.find('\n')) != std::string::npos;) {
      print_(console_text_.substr(0, end));
      console_text_.erase(0, end + 1);
    }
  }
}

void Supervisor::reap() {
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    int status = 0;
    if (ranks_[r].pid <= 0 || waitpid(ranks_[r].pid, &status, WNOHANG) != ranks_[r].pid) continue;
    ranks_[r] = Child{};
    ended_.push_back({static_cast<int>(r), status});
    failed_ = failed_ || status != 0;
  }
}

void Supervisor::end_all() {
  // SIGKILL: a rank may be stuck in a collective that waits for one that is gone.
  for (const auto& rank : ranks_) {
    if (rank.pid > 0) kill(rank.pid, SIGKILL);
  }
  for (auto& rank : ranks_) {
    if (rank.pid > 0) waitpid(rank.pid, nullptr, 0);
    rank = Child{};
  }
}

record::Failure Supervisor::blame() const {
  // Ranks that only saw another one go are effects; the cause was killed, or failed by itself.
  const auto failed = [](const Ended& e) { return e.status != 0; };
  const auto is_cause = [&](const Ended& e) { return failed(e) && !page_.rank(e.rank).peer_lost; };
  auto culprit = std::find_if(ended_.begin(), ended_.end(), is_cause);
  if (culprit == ended_.end()) culprit = std::find_if(ended_.begin(), ended_.end(), failed);
  return {.rank = culprit->rank, .what = describe(*culprit), .log = directory_.log(culprit->rank).string()};
}

std::string Supervisor::describe(const Ended& ended) const {
  auto& progress = page_.rank(ended.rank);
  if (WIFEXITED(ended.status) && progress.failed) return progress.error;
  const std::string place =
      " after step " + std::to_string(progress.step) + ", in " + record::to_string(progress.phase);
  if (WIFSIGNALED(ended.status)) {
    const int signal = WTERMSIG(ended.status);
    const char* name = sigabbrev_np(signal);
    return "killed by " + (name ? "SIG" + std::string(name) : "signal " + std::to_string(signal)) + place;
  }
  return "exited with code " + std::to_string(WEXITSTATUS(ended.status)) + place;
}

}  // namespace ddp::launch
