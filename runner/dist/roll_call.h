#pragma once

#include "dist/process_group.h"

namespace c10d {
class Store;
}

namespace ddp::dist {

// Waits in the store until all ranks are there, for ranks that a user or srun started one by one: no parent compares
// them. Each rank first compares its WORLD_SIZE with rank 0's, and makes sure that it is there once. A rank that finds
// a mistake, receives a stop signal or has waited for too long calls the meeting off, and all ranks that wait end with
// the same error. Throws ddp::Error.
void call_roll(c10d::Store& store, const Membership& membership);

}  // namespace ddp::dist
