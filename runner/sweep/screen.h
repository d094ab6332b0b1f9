#pragma once

#include <chrono>
#include <string>

#include "launch/watch/live_line.h"
#include "sweep/trial.h"
#include "sweep/trials.h"

namespace ddp::sweep {

// The progress of a running sweep. On a terminal: a few lines that are redrawn (numbers of trials done, running and
// failed; the best trial; the time left; the running trials). Elsewhere: one line for each trial that ends.
class Screen {
 public:
  // `progress`: of the running trials, by their place.
  Screen(const config::LoadedSweep& sweep, const Trials& trials, const TrialProgress* progress);

  bool shown() const { return terminal_; }
  // The progress of this trial is at that place.
  void begin(int trial, std::size_t place);
  void print_end(const Trial& trial);
  void refresh();
  // Prints a whole line above the redrawn ones.
  void print(const std::string& line);
  void clear() { drawing_.clear(); }

 private:
  std::vector<std::string> lines() const;
  std::string counts() const;
  std::string running(int trial, std::size_t place) const;

  std::string named(int trial) const { return (sweep_.is_sweep() ? "trial " : "run ") + std::to_string(trial); }

  const config::LoadedSweep& sweep_;
  const Trials& trials_;
  const TrialProgress* progress_;
  const bool terminal_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  int ended_ = 0;  // trials that ended since begun_
  std::vector<std::pair<int, std::size_t>> running_;
  launch::Drawing drawing_;
};

}  // namespace ddp::sweep
