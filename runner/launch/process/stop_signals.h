#pragma once

#include <array>
#include <csignal>
#include <ctime>

namespace ddp::launch {

// What asks a run to stop.
inline constexpr std::array kStopSignals{SIGINT, SIGTERM, SIGUSR2};

inline sigset_t stop_signal_set() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kStopSignals) sigaddset(&set, signal);
  return set;
}

// While it lives, this process does not hear them but by a signalfd; what came in between is there for the next one.
class BlockedStopSignals {
 public:
  BlockedStopSignals() {
    const sigset_t set = stop_signal_set();
    sigprocmask(SIG_BLOCK, &set, &before_);
  }
  ~BlockedStopSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  BlockedStopSignals(const BlockedStopSignals&) = delete;
  BlockedStopSignals& operator=(const BlockedStopSignals&) = delete;

 private:
  sigset_t before_;
};

// Tells a second request to stop, which ends a run at once and without saving, from the echo of the first. Slurm sends
// TERM to every process of a job, and srun passes on what it hears: one process may hear of one stop several times. So
// INT, which people send, counts whenever it comes again, other signals only when they come later.
class StopSignals {
 public:
  // To be called for each signal heard: does it end the run at once? May be called in a signal handler.
  bool at_once(int signal) {
    constexpr std::time_t kEchoSeconds = 3;
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!heard_) {
      heard_ = true;
      first_ = now.tv_sec;
      return false;
    }
    return signal == SIGINT || now.tv_sec - first_ > kEchoSeconds;
  }

 private:
  bool heard_ = false;
  std::time_t first_ = 0;
};

}  // namespace ddp::launch
