#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands/commands.h"
#include "config/sweep.h"
#include "record/run_directory.h"
#include "search/search.h"
#include "sweep/trial.h"

namespace ddp::commands {

// Returns the method that chooses a sweep's trials. The result refers to `loaded`. Throws ddp::Error (usage).
std::unique_ptr<search::Search> make_search(const config::LoadedSweep& loaded);

// Checks every trial against the known keys and returns all of them. Throws ddp::Error (usage) with the mistakes of all
// trials.
std::vector<config::Loaded> check_trials(const config::LoadedSweep& loaded, const search::Search& search);

// Reads the sweep and checks every trial: against the known keys and the machine; and, once for each kind of model,
// data and loss, with a batch. `jobs`: most trials side by side. `results`: the results folder for runs that init_from
// names. `timed`: also measures the time of a step. Prints the warnings. Throws ddp::Error (usage) with all mistakes
// before anything starts.
sweep::SweepPlan prepare_sweep(const std::filesystem::path& file, const std::vector<std::string>& sets,
                               std::optional<int> jobs, const std::filesystem::path& results, bool timed = false);

// Resumes the sweep in that directory. `data_changed`: its trials accept changed data. Returns the program's exit code.
// Throws ddp::Error (usage) if it cannot resume.
int resume_sweep(const record::RunDirectory& directory, std::optional<int> jobs, bool data_changed = false);

// Adds the option --jobs to a command.
void add_jobs(CLI::App& verb, std::optional<int>& jobs);

}  // namespace ddp::commands
