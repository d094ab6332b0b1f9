#pragma once

#include <cstdint>
#include <memory>

#include "config/experiment.h"
#include "data/distributed_sampler.h"
#include "datasets/dataset.h"

namespace ddp::data {

// The micro-batches of a rank, epoch by epoch, in the order that Python's DataLoader gives them.
class Batches {
 public:
  virtual ~Batches() = default;
  // Micro-batches of an epoch, or of what is left of one of which all ranks together have seen `done` samples; 0: as
  // many as one likes.
  virtual std::int64_t per_epoch(std::int64_t done = 0) const = 0;
  // The next call of next() gives micro-batch `position` of the epoch, or of what is left of it. A new epoch draws one
  // number from the global generator, as making a DataLoader iterator does in Python. `last`: no epoch comes after it.
  virtual void start_epoch(std::int64_t epoch, std::int64_t position, std::int64_t done, bool last) = 0;
  // The next call of next() gives the first micro-batch of this step of the run. It is called before the first next()
  // of an epoch where the place of a micro-batch decides what is in it.
  virtual void start_step(std::int64_t step) { static_cast<void>(step); }
  virtual datasets::Batch next() = 0;
};

struct Sharding {
  int rank = 0;
  int world_size = 1;
  std::int64_t batch_size = 32;
  bool pin_memory = false;      // in page-locked memory, from which a GPU copies while the CPU goes on
  std::int64_t accumulate = 1;  // micro-batches of a step
};

// Batches of a dataset's training samples; of what it draws, where it has no samples of its own. The dataset
// must outlive them.
std::unique_ptr<Batches> make_batches(const datasets::Dataset& dataset, const at::Tensor& train_samples,
                                      const Sharding& sharding, const config::Loader& options);

}  // namespace ddp::data
