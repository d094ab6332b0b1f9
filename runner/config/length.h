#pragma once

#include <cstdint>

#include "config/experiment.h"

namespace ddp::config {

// How long a run is: micro-batches of a rank and epoch, optimizer steps, epochs.
struct Length {
  std::int64_t micro_batches_per_epoch = 0;  // endless datasets: 0
  std::int64_t steps_per_epoch = 0;
  std::int64_t steps = 0;
  std::int64_t epochs = 0;
};

// Of `size` samples, those that are held out for validation.
std::int64_t held_out(std::int64_t size, double split);

// Samples that each rank sees in an epoch: DistributedSampler's.
std::int64_t samples_of_rank(std::int64_t size, int world_size, bool drop_last);

// Micro-batches of a rank in an epoch of `size` samples: those of DataLoader over DistributedSampler, where [loader]
// drop_last_batch is DataLoader's drop_last.
std::int64_t micro_batches_of_rank(std::int64_t size, int world_size, std::int64_t batch_size, const Loader& loader);

// A place inside an epoch, as the ranks count that have come there.
struct EpochPlace {
  std::int64_t position = 0;  // micro-batches of a rank that are done,
  std::int64_t offset = 0;    // after so many samples, done by other ranks or in other micro-batches
  int world_size = 1;
  std::int64_t batch_size = 1;  // samples of a micro-batch

  // The samples of the epoch that all ranks have done: before its end every micro-batch is whole.
  std::int64_t seen() const { return offset + position * batch_size * world_size; }
  // The same place as other ranks count, or the same ones in other micro-batches: what was seen of the epoch stays
  // seen, and what is left of its order is dealt out anew.
  EpochPlace taken_over(int new_world_size, std::int64_t new_batch_size) const;
};

// What a run has done that goes on.
struct Done {
  std::int64_t epoch = 0;  // whole ones
  std::int64_t step = 0;
  std::int64_t left = 0;  // micro-batches of the epoch that is under way; 0: none is
};

// `per_epoch`: data::Batches::per_epoch(). A run that is to do so many epochs does what is left of them, however many
// steps those before took.
Length length_of(const Experiment& experiment, std::int64_t per_epoch, const Done& done = {});

}  // namespace ddp::config
