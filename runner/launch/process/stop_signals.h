#pragma once

#include <array>
#include <csignal>
#include <ctime>

#include "base/error.h"

namespace ddp::launch {

// The signals that stop a run.
inline constexpr std::array kStopSignals{SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

// nohup ignores HUP, so that a run survives its terminal. A signalfd would receive it all the same.
inline bool is_heard(int signal) {
  struct sigaction action {};
  return signal != SIGHUP || sigaction(signal, nullptr, &action) != 0 || action.sa_handler != SIG_IGN;
}

inline sigset_t stop_signal_set() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kStopSignals) {
    if (is_heard(signal)) sigaddset(&set, signal);
  }
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
// which people send, therefore counts at any time, and TERM and USR2 count only after a few seconds. A terminal that
// closes sends HUP, and nobody means by it or by USR1 that a save shall end: they never count as the second.
class StopSignals {
 public:
  explicit StopSignals(std::time_t echo_seconds = 3) : echo_seconds_(echo_seconds) {}

  // Call it for each signal received. Returns whether the signal ends the run at once. Async-signal-safe.
  bool at_once(int signal) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!heard_) {
      heard_ = true;
      first_ = now.tv_sec;
      return false;
    }
    if (signal == SIGHUP || signal == SIGUSR1) return false;
    return signal == SIGINT || now.tv_sec - first_ > echo_seconds_;
  }

 private:
  std::time_t echo_seconds_;
  bool heard_ = false;
  std::time_t first_ = 0;
};

// A command that leaves no files was stopped by a signal.
class Stopped : public Error {
 public:
  // `code`: the exit code, see exit_code_of; `what`: the message.
  explicit Stopped(int code, const std::string& what = "stopped by a signal; no file was written")
      : Error(Fault::training, what), code_(code) {}

  int code() const { return code_; }

 private:
  int code_;
};

}  // namespace ddp::launch
