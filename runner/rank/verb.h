#pragma once

#include "config/registry.h"
#include "rank/request.h"

namespace ddp::rank {

// The verbs that the rank library can serve. A verb is one file, which registers a function of its request struct, the
// task, and the taker of its replies:
//
//   const bool train_registered = verbs().add<TrainRequest>(TrainRequest::kVerb, "trains as one rank", train);
//
// The function throws where it cannot go on; ddp_rank_serve tells why.
using Verbs = config::Registry<void, const Task&, const TakeReply&>;
Verbs& verbs();

}  // namespace ddp::rank
