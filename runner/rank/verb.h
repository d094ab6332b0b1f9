#pragma once

#include "config/registry.h"
#include "rank/request.h"

namespace ddp::rank {

// The verbs of the rank library. Each verb is one source file, which registers a function of its request struct, the
// task, and the receiver of its replies:
//
//   const bool train_registered = verbs().add<TrainRequest>(TrainRequest::kVerb, "trains as one rank", train);
//
// The function throws if it cannot continue; ddp_rank_serve reports the reason.
using Verbs = config::Registry<void, const Task&, const TakeReply&>;
Verbs& verbs();

}  // namespace ddp::rank
