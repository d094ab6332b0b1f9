#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/experiment.h"

namespace ddp::commands {

// Returns a warning if `now` holds out samples on which a run of `before` has trained: their measured values are no
// estimate for new data. Empty: it holds out no such samples, or other data take their place. `config`: the run's file,
// and `sets`: the settings of this command, for a new run that holds them out from its start.
std::string held_out_after_training(const config::Experiment& before, const config::Experiment& now,
                                    const std::filesystem::path& config, const std::vector<std::string>& sets);

// Does this key decide which samples are held out?
bool chooses_samples(const std::string& key);

// Does this key of a dataset leave its samples and their order as they are? `on_bad` decides about files that do not
// decode, and while it was "error" there were none.
bool keeps_samples(const std::string& key);

// Is this the dataset on which the run trained?
bool same_data(const config::Experiment& before, const config::Experiment& now);

}  // namespace ddp::commands
