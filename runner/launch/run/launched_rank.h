#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "launch/run/train.h"

namespace ddp::launch {

// Trains as one rank that torchrun or srun started: this process. It has no parent process of ddp-exp, so it handles
// signals itself and prints on its own stderr. Rank 0 writes the results.
int train_launched(const Training& training, const Launch& launch);

// Returns the newest run under results/<name> that an earlier attempt of this launch began.
std::optional<record::RunDirectory> find_launched(const std::filesystem::path& runs, const std::string& launch_id);

}  // namespace ddp::launch
