#pragma once

#include <cstdint>
#include <memory>

#include <ATen/core/Tensor.h>

#include "datasets/dataset.h"

namespace ddp::data {

// The samples that a model is measured on, in order, and this rank's share of them: batch b belongs to rank
// b mod world_size. Batches do not depend on the number of ranks, so that sums over them do not either.
struct EvaluationSet {
  const datasets::MapDataset* dataset = nullptr;
  at::Tensor samples;  // int64 [n]
  std::int64_t batch_size = 32;
  int rank = 0;
  int world_size = 1;
  std::int64_t workers = 0;  // threads that fetch ahead

  // Batches of all ranks; the last one may be short.
  std::int64_t batches() const { return (samples.size(0) + batch_size - 1) / batch_size; }
  // Batches of this rank.
  std::int64_t own_batches() const { return (batches() - rank + world_size - 1) / world_size; }
};

class Prefetch;

// One pass over this rank's batches of a set, which outlives it.
class EvaluationBatches {
 public:
  explicit EvaluationBatches(const EvaluationSet& set);
  ~EvaluationBatches();

  // Returns the next batch. To be called own_batches() times.
  datasets::Batch next();

 private:
  datasets::Batch gather(std::int64_t own_index) const;

  const EvaluationSet& set_;
  std::int64_t next_ = 0;
  std::unique_ptr<Prefetch> prefetch_;  // null: batches are fetched when they are asked for
};

}  // namespace ddp::data
