#pragma once

#include <string>

#include "record/progress_page.h"

namespace ddp::launch {

// Who kept a rank waiting in a collective until it gave up, as the page tells it.
struct LateRank {
  int rank = -1;  // the first that stays away; where all are there, the one that waited
  std::string what;
};

// `waiting`: the rank that gave up, after `timeout` seconds.
LateRank find_late_rank(record::ProgressPage& page, int waiting, double timeout);

}  // namespace ddp::launch
