#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/state.h"
#include "checkpoint/store.h"
#include "dist/collectives.h"

namespace ddp::checkpoint {

// Loads a complete checkpoint on every rank. If all ranks see the folder (`control` is null), each rank reads it.
// Otherwise rank 0 reads it and broadcasts it over `control`, a group for CPU tensors. Collective. Throws ddp::Error
// (training).
Checkpoint load_everywhere(const std::filesystem::path& folder, int rank, const dist::Group& control);

// Gathers every rank's generator states into `state`, in rank order. `devices`: the devices of this rank. Collective.
void gather_rng(const dist::Group& group, const std::vector<std::string>& devices, State& state);

// Restores this rank's generators from the state. Generators of devices that are not in the state do not change. Throws
// ddp::Error (training) if the state does not fit.
void restore_rng(int rank, const std::vector<std::string>& devices, const State& state);

}  // namespace ddp::checkpoint
