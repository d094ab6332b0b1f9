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
#include <map>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "launch/late_rank.h"
#include "launch/live_line.h"
#include "launch/process_state.h"

namespace ddp::launch {
namespace {

constexpr int kRefreshMilliseconds = 100;
constexpr int kTickMilliseconds = 250;

// A collective that times out tells more, a moment later, than that nothing happens; so does one that should have.
constexpr double kAfterCollective = 0.5;
constexpr double kLongAfterCollective = 10;

// gdb takes much memory and time.
constexpr std::size_t kMostStacks = 4;

}  // namespace

Supervisor::Supervisor(record::ProgressPage& page, const config::Experiment& e, bool saves)
    : page_(page),
      timeout_(e.distributed.timeout),
      grace_(e.grace),
      saves_(saves),
      pulse_(page),
      console_(make_pipe(/*reads_wait=*/false)) {
  const sigset_t set = stop_signal_set();
  signals_ = FileDescriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) throw training_error("cannot watch the ranks: " + errno_text(errno));
  print_ = [](const std::string& line) { log::info(line); };
}

Supervisor::~Supervisor() { end_all(); }

void Supervisor::start(int rank, const RankOutput& output, std::vector<int> kept,
                       const std::function<int(int console)>& body) {
  const int console = console_.to.get();
  kept.push_back(console);
  ChildSetup setup{.descriptors = std::move(kept), .log = output.log, .output = output.descriptor};
  ranks_.push_back({.rank = rank, .log = output.name, .file = output.log, .process = fork_child(setup, [&] {
                                                                            return body(console);
                                                                          })});
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
    judge();
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
  poll(watched.data(), watched.size(), live ? kRefreshMilliseconds : tick_ || saves_ ? kTickMilliseconds : -1);
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
  end_of_grace_ = Pulse::Clock::now() + std::chrono::duration_cast<Pulse::Clock::duration>(grace_);
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

void Supervisor::judge() {
  if (end_of_grace_ && Pulse::Clock::now() >= *end_of_grace_) end_after_grace();
  if (!outcome_.failure && !ended_.empty()) blame();
  if (!outcome_.failure && saves_ && any_running()) blame_hung();
  if (!outcome_.failure || taking_stacks()) return;
  keep_stacks();
  end_all();
}

void Supervisor::end_after_grace() {
  end_of_grace_.reset();
  std::ostringstream text;
  text << "the ranks have not saved and ended within " << grace_.count() << " s (grace): ending them at once";
  print_(text.str());
  end_all();
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
  hold(find_late_rank(page_, waited.rank, timeout_));
}

void Supervisor::blame_hung() {
  std::map<int, pid_t> running;
  for (const Rank& rank : ranks_) {
    if (rank.process.pid > 0) running[rank.rank] = rank.process.pid;
  }
  const std::chrono::duration<double> silence = pulse_.silence(running);
  if (silence.count() < timeout_ + kAfterCollective) return;
  note_stopped();
  if (!none_waits(page_) && silence.count() < timeout_ + kLongAfterCollective) return;
  std::vector<int> ranks;
  for (const auto& [rank, pid] : running) ranks.push_back(rank);
  hold(find_hung_rank(page_, ranks, timeout_));
}

// The failure is this rank's. Before those that hang are ended, they are asked where.
void Supervisor::hold(const LateRank& late) {
  outcome_.failure = {.rank = late.rank, .what = late.what, .log = ""};
  for (const Rank& rank : ranks_) {
    if (rank.rank == late.rank) outcome_.failure->log = rank.log;
    const bool hangs = std::find(late.away.begin(), late.away.end(), rank.rank) != late.away.end();
    if (!hangs || rank.process.pid <= 0 || stacks_.size() == kMostStacks) continue;
    stacks_.push_back({.rank = rank.rank, .taken = std::make_shared<NativeStack>(rank.process.pid)});
    watch_also(stacks_.back().taken->output(), [stack = stacks_.back().taken] { return stack->read(); });
  }
  if (!stacks_.empty()) print_("rank " + std::to_string(late.rank) + " hangs; asking gdb where");
}

bool Supervisor::taking_stacks() const {
  return std::any_of(stacks_.begin(), stacks_.end(), [](const Stack& stack) { return !stack.taken->over(); });
}

void Supervisor::keep_stacks() {
  for (const Stack& stack : std::exchange(stacks_, {})) {
    const std::string frames = stack.taken->main_thread();
    if (frames.empty()) continue;
    const auto rank = std::find_if(ranks_.begin(), ranks_.end(), [&](const Rank& r) { return r.rank == stack.rank; });
    const std::string found = "rank " + std::to_string(stack.rank) + " is in" +
                              (rank->file.empty() ? "" : " (all threads: its log)") + frames;
    outcome_.failure->what += "\n  " + found;
    // Where its log is on another machine, that may have ended by now.
    if (rank->file.empty()) {
      print_(found);
      continue;
    }
    const FileDescriptor log(open(rank->file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    if (log) write_all(log.get(), stack.taken->text().data(), stack.taken->text().size(), rank->file);
  }
}

void Supervisor::note_stopped() {
  for (const Rank& rank : ranks_) {
    if (rank.process.pid > 0) page_.rank(rank.rank).stopped = state_of(rank.process.pid).stopped;
  }
}

std::string Supervisor::describe(const Ended& ended) const {
  auto& progress = page_.rank(ended.rank);
  if (WIFEXITED(ended.status) && progress.failed) return progress.error;
  const std::string place = " " + record::standing(progress);
  if (WIFSIGNALED(ended.status)) {
    const int signal = WTERMSIG(ended.status);
    const char* name = sigabbrev_np(signal);
    return "killed by " + (name ? "SIG" + std::string(name) : "signal " + std::to_string(signal)) + place +
           (signal == SIGKILL ? oom_kills_.verdict() : "");
  }
  return "exited with code " + std::to_string(WEXITSTATUS(ended.status)) + place;
}

}  // namespace ddp::launch
