#pragma once

#include <string>
#include <vector>

#include "dist/process_group.h"

namespace ddp::dist {

// What a collective says when another rank has gone: an effect, not the cause.
bool says_peer_lost(const std::string& what);
// What one says when another rank did not come to it in time: Gloo, c10d's stores, and our shared memory.
bool says_peer_late(const std::string& what);

// Which ranks stay away, where there is no parent who sees all ranks: each rank that gave up waiting says so in the
// store, and looks for a moment who else does. Who does not has not been waiting. Rank 0 where the store does not
// answer. Not collective: those who stay away do not call it.
std::vector<int> absent_ranks(const Groups& groups, int rank);

}  // namespace ddp::dist
