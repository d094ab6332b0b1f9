#include "launch/watch/supervisor.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "launch/watch/live_line.h"

namespace ddp::launch {
namespace {

constexpr int kRefreshMilliseconds = 100;
constexpr int kTickMilliseconds = 250;

}  // namespace

Supervisor::Supervisor(record::SharedProgress& shared, const config::Experiment& e, bool saves)
    : shared_(shared),
      grace_(e.grace),
      epochs_(e.epochs.value_or(0)),
      saves_(saves),
      verdict_(shared, e.distributed.timeout),
      console_(make_pipe(/*reads_wait=*/false)) {
  const sigset_t set = stop_signal_set();
  signals_ = FileDescriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) throw training_error("cannot watch the ranks: " + errno_text(errno));
  print_ = [](const std::string& line) { log::info(line); };
  // A blocked write would leave signals unheard, and ranks without a parent that watches them.
  log::never_wait();
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

RunningRanks Supervisor::running() const {
  RunningRanks ranks;
  for (const Rank& rank : ranks_) {
    if (rank.process.pid > 0) ranks[rank.rank] = rank.process.pid;
  }
  return ranks;
}

Outcome Supervisor::watch() {
  console_.to.close();
  LiveLine live(shared_, epochs_);
  print_ = [&](const std::string& line) { live.print(line); };
  while (!running().empty() || undecided() || (!outcome_.failure && others_ && others_())) {
    wait_for_events(live.shown());
    reap();
    for (const auto& tick : ticks_) tick();
    judge();
    live.refresh();
  }
  show_console();
  print_ = [](const std::string& line) { log::info(line); };
  return outcome_;
}

void Supervisor::wait_for_events(bool live) {
  // After all ranks have ended, their closed pipe would always be ready.
  const bool any_run = !running().empty();
  std::vector<pollfd> watched{{signals_.get(), POLLIN, 0}, {any_run ? console_.from.get() : -1, POLLIN, 0}};
  for (const auto& source : sources_) watched.push_back({source.descriptor, POLLIN, 0});
  for (const auto& rank : ranks_) {
    watched.push_back({rank.process.pid > 0 ? rank.process.pidfd.get() : -1, POLLIN, 0});
  }
  poll(watched.data(), watched.size(),
       live                                       ? kRefreshMilliseconds
       : !ticks_.empty() || saves_ || undecided() ? kTickMilliseconds
                                                  : -1);
  if (watched[0].revents != 0) handle_signal();
  if (watched[1].revents & POLLIN) show_console();
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (watched[2 + i].revents != 0 && !sources_[i].readable()) sources_[i].descriptor = -1;
  }
}

void Supervisor::handle_signal() {
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof info) == sizeof info) {
    const int signal = static_cast<int>(info.ssi_signo);
    hear(signal, stop_signals_.at_once(signal));
  }
}

void Supervisor::hear(int signal, bool at_once) {
  stop(signal, at_once || !saves_);
  if (told_stop_) told_stop_(signal, at_once || !saves_);
}

void Supervisor::stop(int signal, bool at_once) {
  const bool first = outcome_.stop_signal == 0;
  if (first) outcome_.stop_signal = signal;
  if (at_once || !saves_) {
    if (first || at_once) print_("stopping at once");
    return end_all();
  }
  if (!first) return;
  shared_.stop_requested() = true;
  end_of_grace_ =
      std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(grace_);
  print_("stopping after this step, then saving (again: at once, without saving)");
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
    EndedRank ended{.rank = rank.rank, .log = rank.log};
    if (rank.process.pid <= 0 || wait4(rank.process.pid, &ended.status, WNOHANG, &ended.used) != rank.process.pid) {
      continue;
    }
    rank.process = Child{};
    if (ended.status != 0) ended_.push_back(std::move(ended));
  }
}

void Supervisor::end_all() {
  stacks_.drop();
  // SIGKILL: a rank may be stuck in a collective that waits for an ended rank.
  for (const auto& rank : ranks_) {
    if (rank.process.pid > 0) kill(rank.process.pid, SIGKILL);
  }
  for (auto& rank : ranks_) {
    if (rank.process.pid > 0) waitpid(rank.process.pid, nullptr, 0);
    rank.process = Child{};
  }
}

void Supervisor::judge() {
  if (end_of_grace_ && std::chrono::steady_clock::now() >= *end_of_grace_) end_after_grace();
  if (undecided()) {
    if (const auto found = verdict_.blame_ended(ended_, running())) blame(*found);
  }
  if (!outcome_.failure && saves_ && !running().empty()) {
    if (const auto found = verdict_.blame_silent(running())) blame(*found);
  }
  if (!outcome_.failure || stacks_.waiting()) return;
  for (const auto& stack : stacks_.keep(print_)) outcome_.failure->what += "\n  " + stack;
  end_all();
}

void Supervisor::end_after_grace() {
  end_of_grace_.reset();
  std::ostringstream text;
  text << "the ranks have not saved and ended within " << grace_.count() << " s (grace): ending them at once";
  print_(text.str());
  end_all();
}

// Asks gdb where the hanging ranks are, before they are killed.
void Supervisor::blame(const Blame& found) {
  outcome_.failure = found.failure;
  bool asked = false;
  for (const Rank& rank : ranks_) {
    if (rank.rank == found.failure.rank) outcome_.failure->log = rank.log;
    const bool hangs = std::find(found.hanging.begin(), found.hanging.end(), rank.rank) != found.hanging.end();
    if (!hangs || rank.process.pid <= 0) continue;
    Program* const gdb = stacks_.ask(rank.rank, rank.process.pid, rank.file);
    if (gdb == nullptr) continue;
    watch_also(gdb->output(), [gdb] { return gdb->read(); });
    asked = true;
  }
  if (asked) print_("rank " + std::to_string(found.failure.rank) + " hangs; asking gdb where");
}

}  // namespace ddp::launch
