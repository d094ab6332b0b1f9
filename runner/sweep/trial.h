#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/length.h"
#include "config/load/sweep.h"
#include "launch/library/rank_library.h"
#include "launch/start/held_data.h"
#include "launch/start/objects.h"
#include "record/run_directory.h"
#include "record/summary.h"
#include "search/search.h"
#include "sweep/devices.h"

namespace ddp::sweep {

// A planned trial.
struct PlannedTrial {
  int ranks = 1;
  DeviceRequest request;
  config::Length length;
  double step_seconds = 0;  // an estimate
};

// A sweep whose trials can all be trained here, as far as checks before training can show, and its resources.
struct SweepPlan {
  std::unique_ptr<config::LoadedSweep> loaded = nullptr;
  std::unique_ptr<search::Search> search = nullptr;
  std::shared_ptr<launch::RankLibrary> library = nullptr;
  launch::DataShelf data = {};  // data that several trials train on
  std::shared_ptr<launch::ObjectShelf> objects = std::make_shared<launch::ObjectShelf>();
  std::vector<launch::Gpu> gpus = {};
  std::vector<PlannedTrial> trials = {};
  std::vector<std::string> warnings = {};  // without duplicates, though several trials may have the same warning
  int at_once = 1;                         // most trials side by side
  int cores = 1;                           // entries of the pool for CPU ranks
  // Of a sweep that begins or resumes:
  record::RunDirectory directory{""};
  // Of a cross-validation that is a trial: its runs take turns on the trial's devices, and train until this epoch (0:
  // to the end).
  std::optional<DeviceLease> lease = {};
  std::int64_t until_epoch = 0;
  std::optional<int> only = {};  // this trial alone: other processes train the others
  bool data_changed = false;     // resumed trials accept data files as they are now
  std::string command = {};      // "ddp-exp run FILE --set …", which trains its file; "": a resumed sweep knows it
  config::Value git = nullptr;   // the state of the checkout that contains the file

  record::RunDirectory folder_of(int trial) const { return directory.trial(trial, loaded->folder_name(trial)); }

  // Throws ddp::Error (usage) if a trial that resumes from this checkpoint has another model or other data now, unless
  // they are accepted and the checkpoint's weights fit.
  void require_same_data(const std::filesystem::path& checkpoint, const config::Experiment& trial) const;
};

// The progress of a running trial, in memory that its process and the sweep share.
struct alignas(64) TrialProgress {
  std::atomic<std::int64_t> step{0};
  std::atomic<std::int64_t> steps{0};  // total; 0: not known yet
  std::atomic<double> loss{0};
};

// Trains a trial of the sweep as `next` says, from the start or from its newest checkpoint. It runs in a process of its
// own, which forks the ranks. Returns the process's exit code.
int train_trial(const SweepPlan& sweep, const search::NextTrial& next, DeviceLease lease, TrialProgress& progress);

// Does what a sweep does when it begins: writes its first files. `tags`: of the command.
void begin(const SweepPlan& plan, const record::RunDirectory& directory, const record::TagChange& tags = {});

// Returns the last line that the trial's process printed.
std::string last_words(const record::RunDirectory& trial);

// The log of the trial's process.
std::filesystem::path trial_log(const record::RunDirectory& trial);

}  // namespace ddp::sweep
