#pragma once

#include "launch/plan/plan.h"

namespace ddp::launch {

// Throws ddp::Error (usage) where a batch of training, validation or test has another size than the model takes, which
// is of some models that were exported from Python: the size that does not fit is named, and the key that it comes
// from.
void require_batch_sizes(const config::Loaded& loaded, const Plan& plan, const rank::Probe& probe);

}  // namespace ddp::launch
