#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "sweep/plan.h"

namespace ddp::sweep {

// How far a trial is that trains, for those who watch: memory that its process and the sweep share.
struct alignas(64) TrialProgress {
  std::atomic<std::int64_t> step{0};
  std::atomic<std::int64_t> steps{0};  // in all; 0: not known yet
  std::atomic<double> loss{0};
};

// Trains a trial of the sweep as `move` says, from the start or from its newest checkpoint, in a process of its own,
// whose ranks are children of it. Returns that process's exit code.
int train_trial(const Plan& sweep, const search::Move& move, Share share, TrialProgress& progress);

// How a trial stands, as its own summary.json tells it.
struct TrialState {
  std::string status = "failed";  // as a run's
  std::int64_t epochs = 0;
  double seconds = 0;
  std::optional<double> metric = {};  // finite
  std::string stopped_by = {};        // the rule of [stop] that ended it before its last step; empty: none did
  std::string error = {};             // why it failed, if it did
};
TrialState state_of(const record::RunDirectory& trial, const std::string& metric);

// The file that the trial's process prints into.
std::filesystem::path trial_log(const record::RunDirectory& trial);

}  // namespace ddp::sweep
