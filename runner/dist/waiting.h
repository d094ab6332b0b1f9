#pragma once

#include <vector>

#include "dist/process_group.h"

namespace ddp::dist {

// Finds the absent ranks when no parent sees all ranks. Each rank that timed out sets a key in the store, and checks
// for a moment which other ranks do the same. A rank without the key was not waiting, so it is absent. Returns rank 0
// if the store does not answer. Not collective: absent ranks do not call it.
std::vector<int> absent_ranks(const Groups& groups, int rank);

}  // namespace ddp::dist
