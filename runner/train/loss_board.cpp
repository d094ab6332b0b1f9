#include "train/loss_board.h"

#include <sched.h>

namespace ddp::train {

void LossBoard::post(std::int64_t step, const LossSum& loss) {
  auto& entry = page_.rank(rank_).losses[static_cast<std::size_t>(step) % record::kLossRing];
  entry.loss_sum = loss.sum;
  entry.samples = loss.samples;
  entry.step.store(step, std::memory_order_release);
}

LossSum LossBoard::collect(std::int64_t step) {
  LossSum all;
  for (int r = 0; r < page_.ranks(); ++r) {
    auto& entry = page_.rank(r).losses[static_cast<std::size_t>(step) % record::kLossRing];
    while (entry.step.load(std::memory_order_acquire) != step) sched_yield();
    all.sum += entry.loss_sum;
    all.samples += entry.samples;
  }
  return all;
}

}  // namespace ddp::train
