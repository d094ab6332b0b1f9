#pragma once

#include <array>
#include <csignal>
#include <ctime>

namespace ddp::launch {

// The signals that stop a run.
inline constexpr std::array kStopSignals{SIGINT, SIGTERM, SIGUSR2};

inline sigset_t stop_signal_set() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kStopSignals) sigaddset(&set, signal);
  return set;
}

// While it exists, this process receives these signals through a signalfd only; signals that arrive in between stay
// pending for the next one.
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

// Distinguishes a second stop request, which ends a run at once and without saving, from an echo of the first. Slurm
// sends TERM to every process of a job, and srun forwards signals: one stop may reach a process several times. INT,
// which people send, therefore counts at any time; other signals count only after a few seconds.
class StopSignals {
 public:
  // Call it for each signal received. Returns whether the signal ends the run at once. Async-signal-safe.
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
