#pragma once

#include "config/value.h"
#include "launch/held/held_data.h"

namespace ddp::launch {

// Returns what the data of a plan are (data::describe). A throw-away child finds out, or the cache has it from an
// earlier call.
config::Value describe_data(const RankLibrary& library, const Plan& plan, const HeldData& data);

// Asks a throw-away child for the parts of a page about the data (data::preview). Tables are read again.
config::Value preview_data(const RankLibrary& library, const Plan& plan, const HeldData& data);

}  // namespace ddp::launch
