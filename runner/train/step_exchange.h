#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "dist/collectives.h"
#include "record/progress_page.h"
#include "train/loss/loss_sum.h"

namespace ddp::train {

// The values that ranks exchange in a step beside gradients: their losses, whether one was asked to stop, and whether
// rank 0 wants to save, or to end the run.
class StepExchange {
 public:
  virtual ~StepExchange() = default;

  // This rank's loss of `step`. To be called before the backward that ends the step, whose all-reduce then hides the
  // way to the other ranks; or, of a GPU, once that backward is queued, since reading a loss waits for the GPU.
  virtual void post(std::int64_t step, const LossSum& loss) = 0;

  // The first rank whose loss of the step that was posted last is not finite; the same answer on each. To be called
  // after the backward that ends the step.
  virtual std::optional<int> not_finite() = 0;

  // All ranks' losses of the step that was posted last, summed in rank order. For rank 0.
  virtual LossSum collect() = 0;

  // Do all ranks stop after the step that was posted last, which they have done? The same answer on each. `more`: there
  // are steps after it.
  virtual bool stop_agreed(bool more) = 0;

  // Do all ranks save after the step that was posted last, which they have done? The same answer on each, to be asked
  // after every step. `wanted`: rank 0 asks for a save after the next step.
  virtual bool save_agreed(bool wanted) = 0;

  // Does the run end after the step that was posted last, which all ranks have done? Asked like save_agreed(); once the
  // answer is yes it stays yes.
  virtual bool end_agreed(bool wanted) = 0;
};

// Through the progress page, with no collective, where all ranks share one (`control` is null); else by an all-gather
// over `control`, a group for CPU tensors. `posts_late`: ranks post after the backward that ends the step.
std::unique_ptr<StepExchange> make_step_exchange(record::ProgressPage& page, int rank, const dist::Group& control,
                                                 bool posts_late);

}  // namespace ddp::train
