#pragma once

#include <cstdint>

namespace ddp::model {

// The samples that a batch of a model may have.
struct BatchSizes {
  std::int64_t least = 1;
  std::int64_t most = INT64_MAX;
};

// A module derives from this beside torch::nn::Module where it does not take batches of any size.
struct LimitsBatches {
  virtual ~LimitsBatches() = default;
  virtual BatchSizes batch_sizes() const = 0;
};

}  // namespace ddp::model
