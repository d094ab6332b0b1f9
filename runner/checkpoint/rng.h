#pragma once

#include <string>
#include <vector>

#include "checkpoint/state.h"
#include "dist/collectives.h"

namespace ddp::checkpoint {

// Every rank's generators, in rank order, as State holds them. Collective. `devices` are the rank's.
void gather_rng(const dist::Group& group, const std::vector<std::string>& devices, State& state);

// Sets this rank's generators to what the state says; those of devices that it knows nothing of stay. Throws ddp::Error
// (training) where it does not fit.
void restore_rng(int rank, const std::vector<std::string>& devices, const State& state);

}  // namespace ddp::checkpoint
