#pragma once

#include <functional>

#include "train/replay/recorder.h"

namespace ddp::train {

// Returns a kernel of ours for a recorded call, whose results it computed with the same bits on this machine; empty: we
// have none. The call's arguments have not changed since. The kernel writes every result whole, and reads no result.
Kernel own_kernel(const RecordedCall& call);

}  // namespace ddp::train
