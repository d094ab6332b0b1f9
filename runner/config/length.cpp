#include "config/length.h"

#include <algorithm>
#include <cmath>

namespace ddp::config {

std::int64_t held_out(std::int64_t size, double split) {
  return static_cast<std::int64_t>(std::floor(split * static_cast<double>(size)));
}

std::int64_t samples_of_rank(std::int64_t size, int world_size, bool drop_last) {
  const std::int64_t whole = size / world_size;
  return drop_last || size % world_size == 0 ? whole : whole + 1;
}

std::int64_t micro_batches_of_rank(std::int64_t size, int world_size, std::int64_t batch_size, const Loader& loader) {
  const std::int64_t samples = samples_of_rank(size, world_size, loader.drop_last);
  return (loader.drop_last_batch ? samples : samples + batch_size - 1) / batch_size;
}

EpochPlace EpochPlace::converted(int new_world_size, std::int64_t new_batch_size) const {
  if (new_world_size == world_size && new_batch_size == batch_size) return *this;
  return {.position = 0, .offset = seen(), .world_size = new_world_size, .batch_size = new_batch_size};
}

Length length_of(const Experiment& e, std::int64_t per_epoch, const Done& done) {
  if (per_epoch == 0) {
    const std::int64_t steps = e.steps.value_or(0);
    return {.micro_batches_per_epoch = 0, .steps_per_epoch = steps, .steps = steps, .epochs = 1};
  }
  const auto steps_of = [&](std::int64_t micro_batches) { return (micro_batches + e.accumulate - 1) / e.accumulate; };
  const std::int64_t per = steps_of(per_epoch);
  const std::int64_t begun = done.left > 0 ? 1 : 0;
  const std::int64_t epochs_left = std::max<std::int64_t>(0, e.epochs.value_or(1) - done.epoch - begun);
  Length length{.micro_batches_per_epoch = per_epoch, .steps_per_epoch = per, .steps = 0, .epochs = 0};
  length.steps = e.steps.value_or(done.step + steps_of(done.left) + epochs_left * per);
  const std::int64_t after = std::max<std::int64_t>(0, length.steps - done.step - steps_of(done.left));
  length.epochs = done.epoch + begun + (after + per - 1) / per;
  return length;
}

}  // namespace ddp::config
