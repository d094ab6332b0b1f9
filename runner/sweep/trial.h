#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "sweep/sweep_plan.h"

namespace ddp::sweep {

// The progress of a running trial, in memory that its process and the sweep share.
struct alignas(64) TrialProgress {
  std::atomic<std::int64_t> step{0};
  std::atomic<std::int64_t> steps{0};  // total; 0: not known yet
  std::atomic<double> loss{0};
};

// Trains a trial of the sweep as `next` says, from the start or from its newest checkpoint. It runs in a process of its
// own, which forks the ranks. Returns the process's exit code.
int train_trial(const SweepPlan& sweep, const search::NextTrial& next, DeviceLease lease, TrialProgress& progress);

// The state of a trial, from its own summary.json.
struct TrialState {
  std::string status = "failed";  // as of a run
  std::int64_t epochs = 0;
  double seconds = 0;
  std::optional<double> metric = {};  // finite
  std::string stopped_by = {};        // rule of [stop] that ended the trial before its last step; empty: none
  std::string error = {};             // of a failed trial
};
TrialState state_of(const record::RunDirectory& trial, const std::string& metric);

// The log of the trial's process.
std::filesystem::path trial_log(const record::RunDirectory& trial);

}  // namespace ddp::sweep
