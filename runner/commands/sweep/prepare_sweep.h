#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/sweep.h"
#include "launch/held/shelf.h"
#include "launch/library/rank_library.h"
#include "launch/plan/plan.h"
#include "search/search.h"
#include "sweep/devices.h"

namespace ddp::commands {

// A trial as it would run.
struct PlannedTrial {
  int ranks = 1;
  sweep::Need need;
  launch::Workload workload;
  double step_seconds = 0;  // about
};

// A sweep whose trials can all be trained here, as far as can be told before.
struct PreparedSweep {
  std::unique_ptr<config::LoadedSweep> loaded;
  std::unique_ptr<search::Search> search;
  std::vector<launch::Gpu> gpus;
  std::unique_ptr<launch::RankLibrary> library;
  std::vector<PlannedTrial> trials;
  std::vector<std::string> warnings;  // each once, though several trials have it
  launch::DataShelf data;             // what several trials train on
  int cores = 1;                      // entries of the pool for CPU ranks
  int at_once = 1;                    // most trials side by side
};

// How the trials of a sweep are chosen. What it returns refers to `loaded`. Throws ddp::Error (usage).
std::unique_ptr<search::Search> make_search(const config::LoadedSweep& loaded);

// Every trial, checked against the known keys. Throws ddp::Error (usage) with all mistakes of all of them.
std::vector<config::Loaded> check_trials(const config::LoadedSweep& loaded, const search::Search& search);

// Reads the sweep and checks every trial of it: against the known keys, the machine, and, each kind of model, data and
// loss once, by a batch. `jobs`: most trials side by side. `results`: the results root, where runs are that init_from
// names. `timed`: also takes the time of a step. Prints the warnings. Throws ddp::Error (usage) with all mistakes;
// nothing was started.
PreparedSweep prepare_sweep(const std::filesystem::path& file, const std::vector<std::string>& sets,
                            std::optional<int> jobs, const std::filesystem::path& results, bool timed = false);

}  // namespace ddp::commands
