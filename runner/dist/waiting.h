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

// A rank that went away, after a connection of this rank broke.
struct LostRank {
  std::string what =
      "a connection between the ranks broke";  // "rank 1 of 2 has ended: <its reason>", "rank 1 … is gone"
  std::string remedy = "look at the output of the other ranks";
};

// Names the rank that went away. It asks in the same way as absent_ranks.
LostRank lost_rank(c10d::Store& store, int rank, int world_size);

// The loss of rank 0 before its store answered.
LostRank lost_rank_0();

}  // namespace ddp::dist
