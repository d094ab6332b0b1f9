#pragma once

#include <cstdint>

#include "config/experiment.h"

namespace ddp::config {

// How long a run is: micro-batches of a rank and epoch, optimizer steps, epochs.
struct Length {
  std::int64_t micro_batches_per_epoch = 0;  // endless datasets: the largest int64
  std::int64_t steps_per_epoch = 0;
  std::int64_t steps = 0;
  std::int64_t epochs = 0;
};

// `per_epoch`: data::Batches::per_epoch().
Length length_of(const Experiment& experiment, std::int64_t per_epoch);

}  // namespace ddp::config
