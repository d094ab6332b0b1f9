#pragma once

#include <filesystem>

#include "checkpoint/store.h"
#include "dist/collectives.h"

namespace ddp::checkpoint {

// A complete checkpoint on every rank. Where all ranks see the folder (`control` is null) each reads it; else rank 0
// reads it and sends it to the others over `control`, a group for CPU tensors. Collective. Throws ddp::Error
// (training).
Checkpoint load_everywhere(const std::filesystem::path& folder, int rank, const dist::Group& control);

}  // namespace ddp::checkpoint
