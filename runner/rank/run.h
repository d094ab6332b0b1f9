#pragma once

#include "rank/task.h"

namespace ddp::rank {

// What one rank does from its fork to its end. Throws where it cannot go on.
void run(const Task& task);

}  // namespace ddp::rank
