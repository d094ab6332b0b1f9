#pragma once

#include "rank/comm.h"

namespace ddp::rank {

// What one rank does to measure collectives: joins the group, and goes through all collectives and sizes. Collective.
// Throws ddp::Error (training).
void measure(const Task& task, const CommOptions& options);

}  // namespace ddp::rank
