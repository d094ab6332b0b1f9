#include "launch/supervisor.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "base/log.h"
#include "launch/late_rank.h"
#include "launch/live_line.h"

namespace ddp::launch {
namespace {

constexpr int kRefreshMilliseconds = 100;
constexpr int kTickMilliseconds = 250;

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kStopSignals) sigaddset(&set, signal);
  return set;
}

// Has it been stopped, by SIGSTOP or a debugger? (proc(5): the state follows the name in brackets.)
bool is_stopped(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  std::getline(in, stat);
  const auto end = stat.rfind(')');
  return end != std::string::npos && end + 2 < stat.size() && (stat[end + 2] == 'T' || stat[end + 2] == 't');
}

}  // namespace

Supervisor::Supervisor(record::ProgressPage& page, double timeout, bool saves)
    : page_(page), timeout_(timeout), saves_(saves), console_(make_pipe(/*reads_wait=*/false)) {
  const sigset_t set = stop_signals();
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = FileDescriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) throw training_error("cannot watch the ranks: " + errno_text(errno));
  print_ = [](const std::string& line) { log::info(line); };
}

Supervisor::~Supervisor() {
  end_all();
  const sigset_t set = stop_signals();
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

void Supervisor::start(int rank, const RankOutput& output, std::vector<int> kept,
                       const std::function<int(int console)>& body) {
  const int console = console_.to.get();
  kept.push_back(console);
  ChildSetup setup{.descriptors = std::move(kept), .log = output.log, .output = output.descriptor};
  ranks_.push_back({.rank = rank, .log = output.name, .process = fork_child(setup, [&] { return body(console); })});
}

void Supervisor::watch_also(int descriptor, std::function<bool()> readable) {
  sources_.push_back({.descriptor = descriptor, .readable = std::move(readable)});
}

bool Supervisor::any_running() const {
  return std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.process.pid > 0; });
}

Outcome Supervisor::watch() {
  console_.to.close();
  LiveLine live(page_);
  print_ = [&](const std::string& line) { live.print(line); };
  while (any_running() || (!outcome_.failure && others_ && others_())) {
    wait_for_events(live.shown());
    reap();
    if (tick_) tick_();
    if (!outcome_.failure && !ended_.empty()) blame();
    if (outcome_.failure) end_all();
    live.refresh();
  }
  show_console();
  print_ = [](const std::string& line) { log::info(line); };
  return outcome_;
}

void Supervisor::wait_for_events(bool live) {
  std::vector<pollfd> watched{{signals_.get(), POLLIN, 0}, {console_.from.get(), POLLIN, 0}};
  for (const auto& source : sources_) watched.push_back({source.descriptor, POLLIN, 0});
  for (const auto& rank : ranks_) {
    watched.push_back({rank.process.pid > 0 ? rank.process.pidfd.get() : -1, POLLIN, 0});
  }
  poll(watched.data(), watched.size(), live ? kRefreshMilliseconds : tick_ ? kTickMilliseconds : -1);
  if (watched[0].revents != 0) handle_signal();
  // A closed pipe (all ranks gone) would be ready for ever; the ranks' ends are told by their pidfds.
  if (watched[1].revents & POLLIN) show_console();
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (watched[2 + i].revents != 0 && !sources_[i].readable()) sources_[i].descriptor = -1;
  }
}

void Supervisor::handle_signal() {
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof info) == sizeof info) {
    const int signal = static_cast<int>(info.ssi_signo);
    const bool at_once = stop_signals_.at_once(signal) || !saves_;
    stop(signal, at_once);
    if (told_stop_) told_stop_(signal, at_once);
  }
}

void Supervisor::stop(int signal, bool at_once) {
  const bool first = outcome_.stop_signal == 0;
  if (first) outcome_.stop_signal = signal;
  if (at_once || !saves_) {
    if (first || at_once) print_("stopping at once");
    return end_all();
  }
  if (!first) return;
  page_.stop_requested() = true;
  print_("stopping after this step, then saving (once more: at once, without saving)");
}

void Supervisor::fail(const record::Failure& failure) {
  if (!outcome_.failure) outcome_.failure = failure;
}

void Supervisor::show_console() {
  char piece[4096];
  for (ssize_t size; (size = read(console_.from.get(), piece, sizeof piece)) > 0;) {
    console_text_.append(piece, static_cast<std::size_t>(size));
    for (std::size_t end; (end = console_text_.find('\n')) != std::string::npos;) {
      print_(console_text_.substr(0, end));
      console_text_.erase(0, end + 1);
    }
  }
}

void Supervisor::reap() {
  for (auto& rank : ranks_) {
    int status = 0;
    if (rank.process.pid <= 0 || waitpid(rank.process.pid, &status, WNOHANG) != rank.process.pid) continue;
    rank.process = Child{};
    if (status != 0) ended_.push_back({.rank = rank.rank, .log = rank.log, .status = status});
  }
}

void Supervisor::end_all() {
  // SIGKILL: a rank may be stuck in a collective that waits for one that is gone.
  for (const auto& rank : ranks_) {
    if (rank.process.pid > 0) kill(rank.process.pid, SIGKILL);
  }
  for (auto& rank : ranks_) {
    if (rank.process.pid > 0) waitpid(rank.process.pid, nullptr, 0);
    rank.process = Child{};
  }
}

void Supervisor::blame() {
  // Ranks that only saw another one go are effects; the cause was killed, or failed by itself.
  const auto is_late = [&](const Ended& e) { return page_.rank(e.rank).peer_late.load(); };
  const auto is_cause = [&](const Ended& e) { return !page_.rank(e.rank).peer_lost && !is_late(e); };
  const auto cause = std::find_if(ended_.begin(), ended_.end(), is_cause);
  const auto late = std::find_if(ended_.begin(), ended_.end(), is_late);
  if (cause == ended_.end() && late != ended_.end()) return blame_late(*late);
  const Ended& culprit = cause == ended_.end() ? ended_.front() : *cause;
  outcome_.failure = {.rank = culprit.rank, .what = describe(culprit), .log = culprit.log};
}

void Supervisor::blame_late(const Ended& waited) {
  if (const auto suspected = suspicion_ ? suspicion_() : std::nullopt) {
    outcome_.failure = {.rank = -1, .what = *suspected, .log = ""};
    return;
  }
  note_stopped();
  const LateRank late = find_late_rank(page_, waited.rank, timeout_);
  outcome_.failure = {.rank = late.rank, .what = late.what, .log = ""};
  for (const Rank& rank : ranks_) {
    if (rank.rank == late.rank) outcome_.failure->log = rank.log;
  }
}

void Supervisor::note_stopped() {
  for (const Rank& rank : ranks_) {
    if (rank.process.pid > 0) page_.rank(rank.rank).stopped = is_stopped(rank.process.pid);
  }
}

std::string Supervisor::describe(const Ended& ended) const {
  auto& progress = page_.rank(ended.rank);
  if (WIFEXITED(ended.status) && progress.failed) return progress.error;
  const std::string place = " " + record::standing(progress);
  if (WIFSIGNALED(ended.status)) {
    const int signal = WTERMSIG(ended.status);
    const char* name = sigabbrev_np(signal);
    return "killed by " + (name ? "SIG" + std::string(name) : "signal " + std::to_string(signal)) + place;
  }
  return "exited with code " + std::to_string(WEXITSTATUS(ended.status)) + place;
}

}  // namespace ddp::launch
