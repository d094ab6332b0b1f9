#pragma once

#include <string>
#include <vector>

#include "record/shared_progress.h"

namespace ddp::launch {

// The rank that made another rank time out in a collective, according to the shared progress.
struct LateRank {
  int rank = -1;  // the first absent rank; if none is absent, the rank that waited
  std::string what;
  std::vector<int> away = {};  // all absent ranks
};

// `waiting`: the rank that gave up, after `timeout` seconds.
LateRank find_late_rank(record::SharedProgress& shared, int waiting, double timeout);

// Returns whether no running rank has begun a collective that another rank has not begun. Then none waits, and none
// will report a timeout.
bool none_waits(record::SharedProgress& shared);

// Finds the rank that blocks a group in which no rank makes progress: a stopped rank, else one that is behind, else the
// first.
LateRank find_hung_rank(record::SharedProgress& shared, const std::vector<int>& ranks, double timeout);

}  // namespace ddp::launch
