#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/experiment.h"
#include "launch/process/child.h"
#include "launch/process/program.h"
#include "launch/process/stop_signals.h"
#include "launch/watch/hung_stacks.h"
#include "launch/watch/verdict.h"
#include "record/shared_progress.h"
#include "record/summary.h"

namespace ddp::launch {

// The end of a group of ranks.
struct Outcome {
  std::optional<record::Failure> failure;  // the first rank that failed, and why
  int stop_signal = 0;                     // the signal that stopped the ranks; 0: none
};

// The destination of a rank's output: a log file or a descriptor; and its name for messages.
struct RankOutput {
  std::string log = {};
  int descriptor = -1;
  std::string name = {};
};

// Starts the ranks of this machine and watches them until all have ended. It shows their messages, requests an agreed
// stop at the first stop signal, kills them at the second, and kills all if one fails.
class Supervisor {
 public:
  // `saves`: the ranks train and have something to save; otherwise the first signal kills them at once.
  Supervisor(record::SharedProgress& shared, const config::Experiment& experiment, bool saves);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Forks one rank. `kept`: descriptors that stay open in it. `body` receives the pipe for its messages.
  void start(int rank, const RankOutput& output, std::vector<int> kept, const std::function<int(int console)>& body);

  // While the ranks are watched, calls `readable` whenever the descriptor is readable, until it returns false.
  void watch_also(int descriptor, std::function<bool()> readable);
  // Also calls this a few times a second, beside earlier ones. The callback may call fail() and stop().
  void watch_over(std::function<void()> tick) { ticks_.push_back(std::move(tick)); }
  // Keeps watching while this returns true, even if the ranks of this machine have ended successfully.
  void wait_for(std::function<bool()> others) { others_ = std::move(others); }
  // Receives each signal that this process receives; `at_once`: it is the second.
  void tell_stop(std::function<void(int signal, bool at_once)> told) { told_stop_ = std::move(told); }

  // Called before an absent rank is blamed: names another possible cause, such as a node that is silent.
  void suspect(std::function<std::optional<std::string>()> suspicion) { verdict_.suspect(std::move(suspicion)); }
  // Notes in the shared progress which ranks of this machine are stopped.
  void note_stopped() { launch::note_stopped(shared_, running()); }

  // As Verdict::stuck() says it.
  std::optional<std::string> stuck() { return verdict_.stuck(running()); }

  // Something outside these ranks failed: they are killed.
  void fail(const record::Failure& failure);
  // Acts as if this process had received the signal.
  void hear(int signal, bool at_once);
  // The same, without tell_stop().
  void stop(int signal, bool at_once);

  // Returns when every rank has ended; none is left, not even as a zombie.
  Outcome watch();
  // The result of watch(), plus anything received since.
  const Outcome& outcome() const { return outcome_; }

 private:
  struct Rank {
    int rank;
    std::string log;   // name for messages
    std::string file;  // the same log, if it is a file of this machine
    Child process;
  };
  struct Source {
    int descriptor;
    std::function<bool()> readable;
  };
  void wait_for_events(bool live);
  void handle_signal();
  void show_console();
  void reap();
  void end_all();
  RunningRanks running() const;
  // Returns whether a rank has failed, and the rank to blame is not yet known.
  bool undecided() const { return !outcome_.failure && !ended_.empty(); }
  void judge();
  void end_after_grace();
  void blame(const Blame& blame);

  record::SharedProgress& shared_;
  const std::chrono::duration<double> grace_;
  const std::int64_t epochs_;  // 0: the experiment counts steps
  const bool saves_;
  Verdict verdict_;
  HungStacks stacks_;
  const BlockedStopSignals blocked_;
  FileDescriptor signals_;
  StopSignals stop_signals_;
  Pipe console_;
  std::string console_text_;  // the incomplete line received so far
  std::vector<Rank> ranks_;
  std::vector<EndedRank> ended_;  // in the order of their detection, up to the failure
  std::vector<Source> sources_;
  std::vector<std::function<void()>> ticks_;
  std::function<bool()> others_;
  std::function<void(int, bool)> told_stop_;
  std::function<void(const std::string&)> print_;
  std::optional<std::chrono::steady_clock::time_point> end_of_grace_;  // set when a stop is requested
  Outcome outcome_;
};

}  // namespace ddp::launch
