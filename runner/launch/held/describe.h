#pragma once

#include <cstdint>

#include "config/value.h"
#include "launch/held/held_data.h"

namespace ddp::launch {

// Returns what the data of a plan are (data::describe). A throw-away child finds out, or the cache has it from an
// earlier call.
config::Value describe_data(const RankLibrary& library, const Plan& plan, const HeldData& data);

// Asks a throw-away child for the parts of a page about the data (data::preview). Tables are read again.
config::Value preview_data(const RankLibrary& library, const Plan& plan, const HeldData& data);

// Asks a throw-away child what is drawn for the first training samples in epoch 0: {"epoch", "samples"}. Throws
// ddp::Error (usage) where the dataset draws nothing for a sample.
config::Value draws_of_data(const RankLibrary& library, const Plan& plan, const HeldData& data, std::int64_t samples);

}  // namespace ddp::launch
