#pragma once

#include "commands/train/prepare.h"
#include "config/experiment.h"
#include "record/saves/checkpoint_index.h"
#include "record/saves/data_files.h"

namespace ddp::commands {

// Inside an epoch, the settings that order its samples must not change: samples would be skipped or repeated. Throws
// ddp::Error (usage) if one of them differs from `before`. `then`: the files of the checkpoint.
void require_same_order(const Prepared& now, const config::Experiment& before, const record::Position& position,
                        const std::vector<record::DataFile>& then);

// After a change of ranks the rest of the epoch may be less than a batch per rank, which drop_last_batch drops. Throws
// ddp::Error (usage) if it is.
void require_batch_left(const Prepared& now, const config::Experiment& before, const record::Position& at);

}  // namespace ddp::commands
