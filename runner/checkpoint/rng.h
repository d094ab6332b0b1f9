#pragma once

#include <string>

#include "checkpoint/state.h"
#include "dist/collectives.h"

namespace ddp::checkpoint {

// Every rank's generators, in rank order, as State holds them. Collective. `device` is the rank's first.
void gather_rng(const dist::Group& group, const std::string& device, State& state);

// Sets this rank's generators to what the state says. Throws ddp::Error (training) where it does not fit.
void restore_rng(int rank, const std::string& device, const State& state);

}  // namespace ddp::checkpoint
