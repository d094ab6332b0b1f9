#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/experiment.h"
#include "record/saves/data_files.h"

namespace ddp::launch {

// Throws ddp::Error (usage) if a file of the model has changed since the checkpoint and the checkpoint's weights do not
// fit the model that it holds now. `now`: the experiment's current files. `anew`: the command that trains this model
// from the start, for the remedy.
void require_fitting_weights(const std::filesystem::path& checkpoint, const config::Experiment& experiment,
                             const std::vector<record::DataFile>& now, const std::string& anew);

}  // namespace ddp::launch
