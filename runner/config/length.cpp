#include "config/length.h"

#include <cmath>
#include <limits>

namespace ddp::config {

std::int64_t held_out(std::int64_t size, double split) {
  return static_cast<std::int64_t>(std::floor(split * static_cast<double>(size)));
}

std::int64_t samples_of_rank(std::int64_t size, int world_size, bool drop_last) {
  const std::int64_t whole = size / world_size;
  return drop_last || size % world_size == 0 ? whole : whole + 1;
}

Length length_of(const Experiment& e, std::int64_t per_epoch) {
  Length length;
  if (per_epoch == 0) {
    length.micro_batches_per_epoch = std::numeric_limits<std::int64_t>::max();
    length.steps_per_epoch = e.steps.value_or(0);
    length.steps = e.steps.value_or(0);
    length.epochs = 1;
    return length;
  }
  length.micro_batches_per_epoch = per_epoch;
  length.steps_per_epoch = (per_epoch + e.accumulate - 1) / e.accumulate;
  length.steps = e.steps.value_or(e.epochs.value_or(1) * length.steps_per_epoch);
  length.epochs = (length.steps + length.steps_per_epoch - 1) / length.steps_per_epoch;
  return length;
}

}  // namespace ddp::config
