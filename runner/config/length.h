#pragma once

#include <cstdint>

#include "config/experiment.h"
#include "config/run_part.h"

namespace ddp::config {

// Returns how many of `size` samples are held out for validation.
std::int64_t held_out(std::int64_t size, double split);

// Samples that each rank sees in an epoch, as in DistributedSampler.
std::int64_t samples_of_rank(std::int64_t size, int world_size, bool drop_last);

// Micro-batches of a rank in an epoch of `size` samples, as in DataLoader over DistributedSampler; [loader]
// drop_last_batch is DataLoader's drop_last.
std::int64_t micro_batches_of_rank(std::int64_t size, int world_size, std::int64_t batch_size, const Loader& loader);

// A position inside an epoch, in the units of one world size and micro-batch size.
struct EpochPlace {
  std::int64_t position = 0;  // micro-batches per rank done with this world size and batch size,
  std::int64_t offset = 0;    // after so many samples that other ranks or other micro-batch sizes did
  int world_size = 1;
  std::int64_t batch_size = 1;  // samples of a micro-batch

  // Samples of the epoch that all ranks have done. Before the end of the epoch every micro-batch is whole.
  std::int64_t seen() const { return offset + position * batch_size * world_size; }
  // The same position for another world size or micro-batch size: seen samples stay seen, and the remaining samples are
  // divided again among the ranks.
  EpochPlace converted(int new_world_size, std::int64_t new_batch_size) const;
};

// The progress of a run that is resumed.
struct Done {
  std::int64_t epoch = 0;  // completed epochs
  std::int64_t step = 0;
  std::int64_t left = 0;  // micro-batches left in the epoch in progress; 0: no epoch is in progress
};

// `per_epoch`: data::Batches::per_epoch(). A run with a number of epochs does its remaining epochs, however many steps
// the completed ones took.
Length length_of(const Experiment& experiment, std::int64_t per_epoch, const Done& done = {});

}  // namespace ddp::config
