#include "data/evaluation.h"

#include <algorithm>

#include "data/prefetch.h"

namespace ddp::data {

EvaluationBatches::EvaluationBatches(const EvaluationSet& set) : set_(set) {
  if (set.workers == 0 || set.dataset->in_memory()) return;
  prefetch_ =
      std::make_unique<Prefetch>(set.workers, 0, set.own_batches(), [this](auto index) { return gather(index); });
}

EvaluationBatches::~EvaluationBatches() = default;

datasets::Batch EvaluationBatches::next() {
  const std::int64_t index = next_++;
  return prefetch_ ? prefetch_->next() : gather(index);
}

datasets::Batch EvaluationBatches::gather(std::int64_t own_index) const {
  const std::int64_t begin = (set_.rank + own_index * set_.world_size) * set_.batch_size;
  const std::int64_t count = std::min(set_.batch_size, set_.samples.size(0) - begin);
  // Evaluation draws no random numbers, so any epoch gives the same samples.
  return set_.dataset->gather(set_.samples.narrow(0, begin, count), /*epoch=*/0);
}

}  // namespace ddp::data
