#pragma once

#include <cstdint>
#include <memory>

#include "config/experiment.h"
#include "data/distributed_sampler.h"
#include "datasets/dataset.h"

namespace ddp::data {

// The micro-batches of a rank, epoch by epoch, in the order of Python's DataLoader.
class Batches {
 public:
  virtual ~Batches() = default;
  // The number of micro-batches of an epoch, or of its rest if all ranks together have seen `done` samples; 0:
  // unlimited.
  virtual std::int64_t per_epoch(std::int64_t done = 0) const = 0;
  // Makes the next call of next() return micro-batch `position` of the epoch, or of its rest. A new epoch draws one
  // number from the global generator, as the creation of a DataLoader iterator does in Python. `last`: no other epoch
  // follows.
  virtual void start_epoch(std::int64_t epoch, std::int64_t position, std::int64_t done, bool last) = 0;
  // Announces that the next call of next() returns the first micro-batch of this step of the run. Must be called before
  // the first next() of an epoch if the content of a micro-batch depends on its place in the run.
  virtual void start_step(std::int64_t step) { static_cast<void>(step); }
  virtual datasets::Batch next() = 0;
};

struct Sharding {
  int rank = 0;
  int world_size = 1;
  std::int64_t batch_size = 32;
  bool pin_memory = false;      // use page-locked memory, from which a GPU copies asynchronously
  std::int64_t accumulate = 1;  // number of micro-batches in a step
};

// Makes the batches of a dataset's training samples, or of generated samples if the dataset has none. The dataset must
// outlive them.
std::unique_ptr<Batches> make_batches(const datasets::Dataset& dataset, const at::Tensor& train_samples,
                                      const Sharding& sharding, const config::Loader& options);

}  // namespace ddp::data
