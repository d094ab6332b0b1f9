#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "launch/run/training.h"

namespace ddp::launch {

// Trains as one rank that torchrun or srun started: this process. There is no parent of ours: it hears signals itself,
// and speaks on its own stderr. Rank 0 writes the results.
int train_launched(const Training& training, const Launch& launch);

// The newest run under results/<name> that was begun by this launch, in an earlier attempt.
std::optional<record::RunDirectory> find_launched(const std::filesystem::path& runs, const std::string& launch_id);

}  // namespace ddp::launch
