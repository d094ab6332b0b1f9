#pragma once

#include <cstdint>

#include "config/value.h"
#include "launch/held/held_data.h"

namespace ddp::launch {

// Returns a description of a plan's data (data::describe), from a throw-away child or from the cache of an earlier
// call.
config::Value describe_data(const RankLibrary& library, const Plan& plan, const HeldData& data);

// Asks a throw-away child for the parts of a report about the data (data::preview). Tables are read again.
config::Value preview_data(const RankLibrary& library, const Plan& plan, const HeldData& data);

// Asks a throw-away child for the random draws of the first training samples in epoch 0: {"epoch", "samples"}. Throws
// ddp::Error (usage) if the dataset draws nothing for a sample.
config::Value draws_of_data(const RankLibrary& library, const Plan& plan, const HeldData& data, std::int64_t samples);

}  // namespace ddp::launch
