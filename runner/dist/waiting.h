#pragma once

#include <exception>
#include <string>
#include <vector>

#include "dist/membership.h"
#include "dist/peers.h"

namespace c10d {
class Store;
}

namespace ddp::dist {

enum class PeerTrouble { none, lost, late };

// Tells from an exception of a collective or a store whether another rank has ended or is late.
PeerTrouble peer_trouble(const std::exception& error);

// Returns the ranks without a key of this prefix in the store: "1, 2"; "": all ranks have set it.
std::string ranks_without(c10d::Store& store, const std::string& prefix, int world_size);

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

// Waits in the store until all ranks are there, for ranks that a user or srun started one by one: no parent compares
// them. Each rank first compares its WORLD_SIZE with rank 0's, and makes sure that it is there once. A rank that finds
// a mistake, receives a stop signal or has waited for too long calls the meeting off, and all ranks that wait end with
// the same error. Throws ddp::Error.
void call_roll(c10d::Store& store, const Membership& membership);

}  // namespace ddp::dist
