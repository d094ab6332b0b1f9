#include "config/length.h"

#include <limits>

namespace ddp::config {

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
