#pragma once

#include "config/load.h"
#include "launch/held/held_data.h"

namespace ddp::launch {

// Prepares the data that a plan keeps in memory, and fills in the model sizes that the experiment file leaves to the
// data. `one_rank`: this process is one rank of a launcher, and reads the data as `use` does by default. Throws
// ddp::Error (usage) if the data are refused or do not fit the model.
HeldData hold_data(const RankLibrary& library, const config::Loaded& loaded, Plan& plan, bool one_rank = false,
                   const DataUse& use = {});

// Fills in those sizes from data that have been prepared.
void fill_sizes(const HeldData& data, const config::Loaded& loaded, Plan& plan);

}  // namespace ddp::launch
