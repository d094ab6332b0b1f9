#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands/commands.h"
#include "config/sweep.h"
#include "launch/library/rank_library.h"
#include "launch/plan/plan.h"
#include "launch/start/held_data.h"
#include "record/run_directory.h"
#include "search/search.h"
#include "sweep/devices.h"

namespace ddp::commands {

// A planned trial.
struct PlannedTrial {
  int ranks = 1;
  sweep::DeviceRequest request;
  config::Length length;
  double step_seconds = 0;  // an estimate
};

// A sweep whose trials can all be trained here, as far as checks before training can show.
struct PreparedSweep {
  std::unique_ptr<config::LoadedSweep> loaded;
  std::unique_ptr<search::Search> search;
  std::vector<launch::Gpu> gpus;
  std::unique_ptr<launch::RankLibrary> library;
  std::vector<PlannedTrial> trials;
  std::vector<std::string> warnings;  // without duplicates, though several trials may have the same warning
  launch::DataShelf data;             // data that several trials share
  int cores = 1;                      // entries of the pool for CPU ranks
  int at_once = 1;                    // most trials side by side
};

// Returns the method that chooses a sweep's trials. The result refers to `loaded`. Throws ddp::Error (usage).
std::unique_ptr<search::Search> make_search(const config::LoadedSweep& loaded);

// Checks every trial against the known keys and returns all of them. Throws ddp::Error (usage) with the mistakes of all
// trials.
std::vector<config::Loaded> check_trials(const config::LoadedSweep& loaded, const search::Search& search);

// Reads the sweep and checks every trial: against the known keys and the machine; and, once for each kind of model,
// data and loss, with a batch. `jobs`: most trials side by side. `results`: the results folder for runs that init_from
// names. `timed`: also measures the time of a step. Prints the warnings. Throws ddp::Error (usage) with all mistakes
// before anything starts.
PreparedSweep prepare_sweep(const std::filesystem::path& file, const std::vector<std::string>& sets,
                            std::optional<int> jobs, const std::filesystem::path& results, bool timed = false);

// Resumes the sweep in that directory. `data_changed`: its trials accept changed data. Returns the program's exit code.
// Throws ddp::Error (usage) if it cannot resume.
int resume_sweep(const record::RunDirectory& directory, std::optional<int> jobs, bool data_changed = false);

// Adds the option --jobs to a command.
void add_jobs(CLI::App& verb, std::optional<int>& jobs);

}  // namespace ddp::commands
