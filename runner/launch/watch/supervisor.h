#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/experiment.h"
#include "launch/process/child.h"
#include "launch/process/pipe.h"
#include "launch/process/stop_signals.h"
#include "launch/watch/hung_stacks.h"
#include "launch/watch/verdict.h"
#include "record/progress_page.h"
#include "record/summary.h"

namespace ddp::launch {

// How a group of ranks ended.
struct Outcome {
  std::optional<record::Failure> failure;  // the rank that went first, and why
  int stop_signal = 0;                     // the signal that asked for a stop; 0: none did
};

// Where a rank's output goes: a log file, or a descriptor. And its name, for those who look for it.
struct RankOutput {
  std::string log = {};
  int descriptor = -1;
  std::string name = {};
};

// Starts the ranks of this machine and watches them until all have ended: shows what they say, asks for an agreed
// stop at the first INT, TERM or USR2 and ends them at the second, and ends all when one fails.
class Supervisor {
 public:
  // `saves`: the ranks train and have something to save; else the first signal ends them at once.
  Supervisor(record::ProgressPage& page, const config::Experiment& experiment, bool saves);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Forks one rank. `kept`: descriptors that stay open in it; `body` gets the pipe to speak through.
  void start(int rank, const RankOutput& output, std::vector<int> kept, const std::function<int(int console)>& body);

  // While the ranks are watched, calls `readable` whenever that descriptor is, until it returns false.
  void watch_also(int descriptor, std::function<bool()> readable);
  // Also calls this a few times a second. It may call fail() and stop().
  void watch_over(std::function<void()> tick) { tick_ = std::move(tick); }
  // Goes on watching while this is true, also when the ranks of this machine have ended well.
  void wait_for(std::function<bool()> others) { others_ = std::move(others); }
  // Is told of each signal that is heard here; `at_once`: it is the second.
  void tell_stop(std::function<void(int signal, bool at_once)> told) { told_stop_ = std::move(told); }

  // Before a rank is blamed that only stayed away: names what may have kept it, such as a node that is not heard of.
  void suspect(std::function<std::optional<std::string>()> suspicion) { verdict_.suspect(std::move(suspicion)); }
  // Notes on the page which ranks of this machine are stopped.
  void note_stopped() { launch::note_stopped(page_, running()); }

  // Something outside of these ranks failed: they are ended.
  void fail(const record::Failure& failure);
  // As if that signal were heard here.
  void stop(int signal, bool at_once);

  // Returns when every rank has ended; none is left, and none is a zombie.
  Outcome watch();
  // What it has returned, and what was heard since.
  const Outcome& outcome() const { return outcome_; }

 private:
  struct Rank {
    int rank;
    std::string log;   // for those who look for it
    std::string file;  // the same, where it is a file of this machine
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
  void judge();
  void end_after_grace();
  void blame(const Verdict::Blame& blame);

  record::ProgressPage& page_;
  const std::chrono::duration<double> grace_;
  const bool saves_;
  Verdict verdict_;
  HungStacks stacks_;
  const BlockedStopSignals blocked_;
  FileDescriptor signals_;
  StopSignals stop_signals_;
  Pipe console_;
  std::string console_text_;  // what came so far of a line
  std::vector<Rank> ranks_;
  std::vector<EndedRank> ended_;  // in the order in which they were found, until the others were killed
  std::vector<Source> sources_;
  std::function<void()> tick_;
  std::function<bool()> others_;
  std::function<void(int, bool)> told_stop_;
  std::function<void(const std::string&)> print_;
  std::optional<std::chrono::steady_clock::time_point> end_of_grace_;  // once a stop was asked for
  Outcome outcome_;
};

}  // namespace ddp::launch
