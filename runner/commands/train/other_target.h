#pragma once

#include <string>
#include <vector>

#include "commands/train/other_optimizer.h"
#include "record/saves/data_files.h"

namespace ddp::commands {

// Throws ddp::Error (usage) if the run has another target now. The weights of the checkpoint predict the target before,
// and its best metric is of that target.
void require_same_target(const Continued& continued, const config::Experiment& before, const config::Loaded& now);

// Says that the best metric so far was measured on other data, or with another loss; empty: it was not. `then`: the
// files of the data that trained the checkpoint; `files`: the current files.
std::string best_change(const config::Experiment& before, const config::Experiment& now,
                        const std::vector<record::DataFile>& then, const std::vector<record::DataFile>& files);

}  // namespace ddp::commands
