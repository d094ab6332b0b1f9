#pragma once

#include <string>
#include <vector>

#include "record/progress_page.h"

namespace ddp::launch {

// Who kept a rank waiting in a collective until it gave up, as the page tells it.
struct LateRank {
  int rank = -1;  // the first that stays away; where all are there, the one that waited
  std::string what;
  std::vector<int> away = {};  // all that stay away
};

// `waiting`: the rank that gave up, after `timeout` seconds.
LateRank find_late_rank(record::ProgressPage& page, int waiting, double timeout);

// Has no rank that runs begun a collective that another has not? Then none waits, and will tell.
bool none_waits(record::ProgressPage& page);

// Who keeps a group from going on of which no rank does anything: one that is stopped, or is behind, or the first.
LateRank find_hung_rank(record::ProgressPage& page, const std::vector<int>& ranks, double timeout);

}  // namespace ddp::launch
