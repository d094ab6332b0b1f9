#pragma once

#include <filesystem>
#include <vector>

#include "dist/collectives.h"
#include "rank/task.h"
#include "record/saves/data_files.h"

namespace ddp::rank {

// Throws ddp::Error (usage) on every rank if ranks without a common parent were started with different experiments, or
// if their files of data or model differ. `files`: of this rank's experiment; {} if the nodes have compared them.
void require_same_terms(const Task& task, const std::vector<record::DataFile>& files, const dist::Group& control);

// Tells the other ranks where rank 0 starts, and opens the log of a rank that has no parent. Returns rank 0's
// checkpoint; empty: a new run.
std::filesystem::path follow_rank_0(const Task& task, const dist::Group& control);

}  // namespace ddp::rank
