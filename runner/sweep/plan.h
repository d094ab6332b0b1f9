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

// Which trials run on what: everything that is wrong with them, as far as can be told, was found before this is.
struct Plan {
  const config::LoadedSweep& loaded;
  search::Search& search;
  const launch::RankLibrary& library;
  const launch::DataShelf& data;  // what several trials train on
  std::vector<launch::Gpu> gpus;
  std::vector<Need> needs;       // of each trial
  int at_once = 1;               // most trials side by side
  int cores = 1;                 // entries of the pool for CPU ranks
  std::optional<int> only = {};  // this trial alone: other processes train the others
  record::RunDirectory directory;
  bool data_changed = false;           // trials that go on take files of data as they are now
  std::string accepting_command = {};  // goes on with the sweep on data that have changed
  config::Value git = nullptr;         // the state of the checkout that the file stands in
};

}  // namespace ddp::sweep
