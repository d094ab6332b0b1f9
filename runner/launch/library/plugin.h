#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/experiment.h"
#include "config/load/load.h"
#include "config/load/sweep.h"
#include "record/run_directory.h"

namespace ddp::launch {

// Read an experiment, or a sweep, as config::load and config::load_sweep do, together with the components that the
// files of its key `sources` register, which are compiled if needed. Throw as these functions do; an error
// about a missing source shows its line.
config::Loaded load_experiment(const std::filesystem::path& file, const std::vector<std::string>& sets = {});
config::LoadedSweep load_sweep(const std::filesystem::path& file, const std::vector<std::string>& sets = {});
config::LoadedSweep load_race(const std::filesystem::path& a, const std::filesystem::path& b,
                              const std::vector<std::string>& sets, const config::RaceRules& rules);

// A run's copy of the files of `sources`: it keeps the compiled texts in its folder "sources", and resumes with them
// even if the files change.
//
// Writes the texts into the folder of a run or a sweep, and returns its config.toml or sweep.toml. Throws ddp::Error
// (training) if the texts cannot be written.
std::string text_for(const config::Experiment& experiment, const record::RunDirectory& run);
std::string text_for(const config::LoadedSweep& sweep, const record::RunDirectory& directory);

// Warns of files that have changed since this run began, and says that the run uses its own copies. Silent if `now`
// names other sources than the run's own.
void tell_changed_sources(const config::Experiment& now, const record::RunDirectory& run);

// Throws ddp::Error (usage) that names a source whose text differs from node 0's. `hashes`: record::hashes_of_texts
// there.
void require_sources_of(const config::Value& hashes, const config::Experiment& experiment);

}  // namespace ddp::launch
