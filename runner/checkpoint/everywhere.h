#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/state.h"
#include "checkpoint/store.h"
#include "dist/collectives.h"
#include "model/generators.h"

namespace ddp::checkpoint {

// Loads a complete checkpoint on every rank. If all ranks see the folder (`control` is null), each rank reads it.
// Otherwise rank 0 reads it and broadcasts it over `control`, a group for CPU tensors. Collective. Throws ddp::Error
// (training).
Checkpoint load_everywhere(const std::filesystem::path& folder, int rank, const dist::Group& control);

// Gathers the states of the generators of all logical ranks into `state`, in their order. Collective.
void gather_rng(const dist::Group& group, model::Generators& generators, State& state);

// Restores the generators of this rank's logical ranks from the state; of more logical ranks than it has, the others
// begin with the first ones' again. Generators of devices that are not in the state do not change. Throws ddp::Error
// (training) if the state does not fit.
void restore_rng(int rank, model::Generators& generators, const State& state);

}  // namespace ddp::checkpoint
