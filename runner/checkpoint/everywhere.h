#pragma once

#include <filesystem>

#include "checkpoint/store.h"
#include "dist/collectives.h"

namespace ddp::checkpoint {

// Loads a complete checkpoint on every rank. If all ranks see the folder (`control` is null), each rank reads it.
// Otherwise rank 0 reads it and broadcasts it over `control`, a group for CPU tensors. Collective. Throws ddp::Error
// (training).
Checkpoint load_everywhere(const std::filesystem::path& folder, int rank, const dist::Group& control);

}  // namespace ddp::checkpoint
