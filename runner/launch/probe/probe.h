#pragma once

#include "launch/library/rank_library.h"
#include "launch/plan/plan.h"
#include "launch/plan/start.h"
#include "rank/probe.h"

namespace ddp::launch {

// What only tensors can tell of an experiment, and of what it goes on from: from a throw-away child, or, where the same
// was tried before, from the cache. `timed`: also about how long a step takes, which is measured each time. Throws
// ddp::Error (usage) where the experiment cannot be trained.
rank::Probe probe(const RankLibrary& library, const Plan& plan, const Start& start, bool timed = false);

}  // namespace ddp::launch
