#pragma once

#include <vector>

#include "dist/process_group.h"

namespace ddp::dist {

// Which ranks stay away, where there is no parent who sees all ranks: each rank that gave up waiting says so in the
// store, and looks for a moment who else does. Who does not has not been waiting. Rank 0 where the store does not
// answer. Not collective: those who stay away do not call it.
std::vector<int> absent_ranks(const Groups& groups, int rank);

}  // namespace ddp::dist
