#pragma once

#include <cstdint>

namespace ddp::datasets {

// The position of a micro-batch in a run.
struct MicroBatchPosition {
  std::int64_t step = 0;         // of the run, below 2^32
  std::int64_t micro_batch = 0;  // of the step, below 2^23
  int rank = 0;                  // below 2^16
};

}  // namespace ddp::datasets
