#pragma once

#include <vector>

#include "dist/collectives.h"

namespace ddp::train {

// One row of numbers for each batch of an evaluation. Rows may differ in length.
using BatchRows = std::vector<std::vector<double>>;

// Returns the rows of all ranks in the order of batches. `own`: this rank's rows; rank b mod world_size has batch b.
// Collective; the result is the same on every rank.
BatchRows rows_of_all_ranks(const dist::Group& group, const BatchRows& own);

}  // namespace ddp::train
