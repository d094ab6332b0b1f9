#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/sweep.h"
#include "launch/held/shelf.h"
#include "launch/library/rank_library.h"
#include "record/run_directory.h"
#include "search/search.h"
#include "sweep/devices.h"

namespace ddp::sweep {

// The trials of a sweep and their resources. All errors that can be found in advance were found before a plan is made.
struct SweepPlan {
  const config::LoadedSweep& loaded;
  search::Search& search;
  const launch::RankLibrary& library;
  const launch::DataShelf& data;  // data that several trials train on
  std::vector<launch::Gpu> gpus;
  std::vector<DeviceRequest> requests;  // of each trial
  int at_once = 1;                      // maximum number of concurrent trials
  int cores = 1;                        // entries of the pool for CPU ranks
  std::optional<int> only = {};         // this trial alone: other processes train the others
  record::RunDirectory directory;
  bool data_changed = false;           // resumed trials accept data files as they are now
  std::string accepting_command = {};  // the command that resumes the sweep on changed data
  config::Value git = nullptr;         // the state of the checkout that contains the file

  // Throws ddp::Error (usage) if a trial that resumes from this checkpoint has another model or other data now, unless
  // they are accepted and the checkpoint's weights fit.
  void require_same_data(const std::filesystem::path& checkpoint, const config::Experiment& trial) const;
};

}  // namespace ddp::sweep
