#pragma once

#include "launch/held/held_data.h"
#include "launch/library/rank_library.h"
#include "launch/plan/plan.h"
#include "launch/plan/start.h"
#include "rank/probe.h"

namespace ddp::launch {

// Returns facts about an experiment and its start that only tensors can tell, from a throw-away child or from the cache
// of an earlier try. `timed`: also measures the time of a step, each time. Throws ddp::Error (usage) if the experiment
// cannot be trained.
rank::Probe probe(const RankLibrary& library, const Plan& plan, const Start& start, const HeldData& data,
                  bool timed = false);

}  // namespace ddp::launch
