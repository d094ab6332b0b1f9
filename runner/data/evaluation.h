#pragma once

#include <cstdint>
#include <memory>

#include <ATen/core/Tensor.h>

#include "datasets/dataset.h"

namespace ddp::data {

// The samples of an evaluation, in order, and this rank's share: batch b belongs to rank b mod world_size. Batches do
// not depend on the world size, so sums over batches do not either.
struct EvaluationSet {
  const datasets::MapDataset* dataset = nullptr;
  at::Tensor samples;  // int64 [n]
  std::int64_t batch_size = 32;
  int rank = 0;
  int world_size = 1;
  std::int64_t workers = 0;  // threads that fetch ahead

  // The number of batches of all ranks; the last batch may be shorter.
  std::int64_t batches() const { return (samples.size(0) + batch_size - 1) / batch_size; }
  // The number of batches of this rank.
  std::int64_t own_batches() const { return (batches() - rank + world_size - 1) / world_size; }
};

class Prefetch;

// One pass over this rank's batches of a set, which outlives it.
class EvaluationBatches {
 public:
  explicit EvaluationBatches(const EvaluationSet& set);
  ~EvaluationBatches();

  // Returns the next batch. May be called own_batches() times.
  datasets::Batch next();

 private:
  datasets::Batch gather(std::int64_t own_index) const;

  const EvaluationSet& set_;
  std::int64_t next_ = 0;
  std::unique_ptr<Prefetch> prefetch_;  // null: next() fetches each batch itself
};

}  // namespace ddp::data
