#pragma once

#include <string>
#include <vector>

#include "dist/process_group.h"

namespace c10d {
class Store;
}

namespace ddp::dist {

// Finds the absent ranks when no parent sees all ranks. Each rank that timed out sets a key in the store, and checks
// for a moment which other ranks do the same. A rank without the key was not waiting, so it is absent. Returns rank 0
// if the store does not answer. Not collective: absent ranks do not call it.
std::vector<int> absent_ranks(const Groups& groups, int rank);

// Notes in the store why this rank ends, so that the ranks that lose it can name the reason.
void note_end(const Groups& groups, int rank, const std::string& why);

// Keeps the store of a rank that has noted its end until the other ranks have asked for the reason, or for a moment.
void await_questions(c10d::Store& store, int rank, int world_size);

// Describes the rank that went away, after a connection of this rank broke: "rank 1 of 2 has ended: <its reason>", or
// "rank 1 of 2 is gone". It asks in the same way as absent_ranks.
std::string lost_rank_in_words(c10d::Store& store, int rank, int world_size);

// The remedy after the loss of a rank.
inline constexpr const char* kLookAtItsOutput = "look at its own output";

}  // namespace ddp::dist
