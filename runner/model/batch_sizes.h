#pragma once

#include <cstdint>

namespace ddp::model {

// The limits of a model's batch size, in samples.
struct BatchSizes {
  std::int64_t least = 1;
  std::int64_t most = INT64_MAX;
};

// The second base class of a module that does not accept every batch size.
struct LimitsBatches {
  virtual ~LimitsBatches() = default;
  virtual BatchSizes batch_sizes() const = 0;
};

}  // namespace ddp::model
