#pragma once

#include "launch/held/held_data.h"
#include "launch/library/rank_library.h"
#include "launch/plan/plan.h"
#include "launch/plan/start.h"
#include "rank/probe.h"

namespace ddp::launch {

// Returns the facts about an experiment, and its start, that only tensors can tell. A throw-away child finds them, or
// the cache has them from an earlier try. `timed`: also about how long a step
// takes, which is measured each time. Throws ddp::Error (usage) where the experiment cannot be trained.
rank::Probe probe(const RankLibrary& library, const Plan& plan, const Start& start, const HeldData& data,
                  bool timed = false);

}  // namespace ddp::launch
