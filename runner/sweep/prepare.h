#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/load/sweep.h"
#include "search/search.h"
#include "sweep/trial.h"

namespace ddp::sweep {

// Returns the method that chooses a sweep's trials; for a cross-validation its runs in their order, which train until
// an epoch (0: to the end). The result refers to `loaded`. Throws ddp::Error (usage).
std::unique_ptr<search::Search> make_search(const config::LoadedSweep& loaded, std::int64_t until_epoch = 0);
// The name of this method.
std::string method_of(const config::LoadedSweep& loaded);

// Checks every trial against the known keys and returns all of them. Throws ddp::Error (usage) with the mistakes of all
// trials.
std::vector<config::Loaded> check_trials(const config::LoadedSweep& loaded, const search::Search& search);

// Checks every trial of a sweep: against the known keys and the machine; and, once for each kind of model,
// data and loss, with a batch. `jobs`: most trials side by side. `results`: the results folder for runs that init_from
// names. `timed`: also measures the time of a step. Prints the warnings. Throws ddp::Error (usage) with all mistakes
// before anything starts.
SweepPlan prepare_sweep(config::LoadedSweep loaded, std::optional<int> jobs, const std::filesystem::path& results,
                        bool timed = false);

}  // namespace ddp::sweep
