#include "train/step_batches.h"

#include <utility>

#include <ATen/ops/scalar_tensor.h>

namespace ddp::train {

void StepBatches::start(std::int64_t step, std::int64_t micro_batches) {
  batches_.start_step(step);
  micro_batches_ = micro_batches;
  if (loss_.divides_by_count()) count_targets();
}

void StepBatches::count_targets() {
  own_count_ = 0;
  loaded_.clear();
  for (std::int64_t i = 0; i < micro_batches_; ++i) {
    loaded_.push_back(batches_.next());
    own_count_ += loss_.count(only_target(loaded_.back().targets));
  }
  const auto of_ranks = dist::all_gather(group_, at::scalar_tensor(own_count_, at::kDouble));
  ranks_ = static_cast<double>(of_ranks.size());
  all_count_ = 0;
  for (const at::Tensor& count : of_ranks) all_count_ += count.item<double>();
}

datasets::Batch StepBatches::next() {
  if (loaded_.empty()) return batches_.next();
  datasets::Batch batch = std::move(loaded_.front());
  loaded_.pop_front();
  return batch;
}

at::Tensor StepBatches::loss(const at::Tensor& output, const datasets::Batch& batch) {
  const at::Tensor& target = only_target(batch.targets);
  const bool divides = loss_.divides_by_count();
  const at::Tensor value = divides ? loss_.sum(output, target) : loss_(output, target);
  losses_.push_back({.value = value.detach(), .samples = batch.samples()});
  if (divides) return all_count_ == 0 ? value * 0 : value * ranks_ / all_count_;
  // Multiplication by 1/k would give other bits.
  return micro_batches_ > 1 ? value / micro_batches_ : value;
}

LossSum StepBatches::read_losses() {
  LossSum sum;
  for (const auto& [value, samples] : std::exchange(losses_, {})) {
    if (loss_.divides_by_count()) {
      sum.add({.sum = value.item<double>(), .weight = 0, .samples = samples});
    } else {
      sum.add(value.item<double>(), samples);
    }
  }
  if (loss_.divides_by_count()) sum.weight = own_count_;
  return sum;
}

}  // namespace ddp::train
