#pragma once

#include <chrono>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "base/shared_memory.h"
#include "launch/process/child.h"
#include "launch/process/stop_signals.h"
#include "record/liveness.h"
#include "record/race.h"
#include "record/run_directory.h"
#include "report/read/summary_view.h"
#include "sweep/journal.h"
#include "sweep/screen.h"
#include "sweep/trial.h"
#include "sweep/trials.h"

namespace ddp::sweep {

// The JSON Schema of summary.json.
config::Value summary_schema();

// Runs the trials of a sweep to their ends, as many concurrently as the devices allow. Each trial is a process forked
// from this one, which has loaded the rank library; the trial's process forks its ranks. This process stays
// single-threaded: one loop.
class TrialLoop {
 public:
  // `trials`: the state that the existing journal describes. Both arguments must outlive the loop.
  TrialLoop(const SweepPlan& plan, Trials& trials);
  ~TrialLoop();
  TrialLoop(const TrialLoop&) = delete;
  TrialLoop& operator=(const TrialLoop&) = delete;

  // Returns the program's exit code: 0 done, 1 every trial failed, or a run of a cross-validation, 128 + n stopped by
  // signal n after saving.
  int run();

 private:
  struct Running {
    int trial = 0;
    DeviceLease lease = {};
    launch::Child process = {};
    std::size_t place = 0;  // of its TrialProgress in memory_
  };

  void start_what_fits();
  std::optional<search::NextTrial> next_trial(const search::Fits& fits);
  bool more() const;
  void start(const search::NextTrial& next, DeviceLease lease);
  void wait();
  void reap();
  void end(int trial, int exit_status);
  Event end_of(int trial, int exit_status) const;
  void record_event(const Event& event);
  bool fails_again(int trial) const;
  void handle_signals();
  void stop(int signal, bool at_once);
  void signal_all(int signal);
  void save_summary(const std::string& status);
  int conclude();
  int conclude_one(int number);
  bool pair_has_failed() const;
  void add_pairs();
  bool is_decided() const;
  int conclude_race();
  int conclude_cv(bool stopped);
  int say_stopped() const;
  void catch_up();
  bool is_ours(int trial) const;

  const SweepPlan& plan_;
  Trials& trials_;
  Journal journal_;
  Devices devices_;
  report::SweepView summary_;  // without the trials
  const double seconds_before_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point summary_written_ = begun_;
  SharedMapping memory_;
  TrialProgress* const progress_;
  std::vector<search::NextTrial> unfinished_;  // begun before, or failed and tried again
  std::list<Running> running_;
  std::vector<bool> places_;
  const launch::BlockedStopSignals blocked_;
  FileDescriptor signals_;
  launch::StopSignals stop_signals_;
  record::StopRequests requests_;
  int stop_signal_ = 0;
  Screen screen_;
  record::Race race_;  // of a race
};

}  // namespace ddp::sweep
