#pragma once

#include <cstdint>

#include "config/load.h"

namespace ddp::launch {

// Returns the GPUs that a machine must have for the devices of a list: its greatest index and one.
std::int64_t gpus_of_list(const config::Value& pool);

// Throws ddp::Error (usage) if no machine could start this experiment, whatever its devices: the pool cannot be
// divided, the batch cannot be divided over it, the model or the backend does not fit it. An "auto" pool is known only
// on the machine, and not checked.
void require_fitting_machine(const config::Loaded& loaded);

}  // namespace ddp::launch
