#pragma once

#include "launch/plan/plan.h"

namespace ddp::launch {

// Throws ddp::Error (usage) if a batch of training, validation or test has a size that the model does not take; some
// models exported from Python take only certain sizes. The error names the size and its key.
void require_batch_sizes(const config::Loaded& loaded, const Plan& plan, const rank::Probe& probe);

}  // namespace ddp::launch
