#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "dist/collectives.h"
#include "model/named_tensors.h"
#include "record/shared_progress.h"
#include "train/loss/loss.h"

namespace ddp::train {

// The first rank of a step whose loss or whose own gradient is not finite.
struct NotFinite {
  int rank = 0;
  std::optional<std::size_t> parameter = {};  // the first one with such a gradient; nothing: the loss is not finite
};

// The values that ranks exchange in a step beside gradients: their losses, stop requests, and whether rank 0 wants to
// save or to end the run.
class StepExchange {
 public:
  virtual ~StepExchange() = default;

  // Begins `step`. Call before its first backward.
  virtual void begin(std::int64_t step) = 0;

  // Notes that this rank's gradient of a parameter is not finite. On a CPU, call during backward: before the gradient
  // enters an all-reduce. On a GPU, call before post().
  virtual void gradient_not_finite(std::size_t parameter) = 0;

  // Posts this rank's loss of the step. On a CPU, call before the last backward of the step, whose all-reduce then
  // hides the latency. On a GPU, call once that backward is queued, because reading a loss waits for the GPU.
  virtual void post(const LossSum& loss) = 0;

  // Returns what is not finite in this step; a loss before a gradient. The result is the same on every rank. Call after
  // the last backward of the step.
  virtual std::optional<NotFinite> not_finite() = 0;

  // Returns the sum of the last posted losses of all ranks. Rank 0 only.
  virtual LossSum collect() = 0;

  // Tells whether all ranks stop now, after the last posted step. The result is the same on every rank. `more`: the run
  // has more steps.
  virtual bool stop_agreed(bool more) = 0;

  // Tells whether all ranks save now, after the last posted step. The result is the same on every rank. Call after
  // every step. `wanted`: rank 0 requests a save after the next step.
  virtual bool save_agreed(bool wanted) = 0;

  // Tells whether the run ends now, after the last posted step. Called like save_agreed(); once true, the result stays
  // true.
  virtual bool end_agreed(bool wanted) = 0;
};

// Exchanges through the shared progress, without a collective, if all ranks have it (`control` is null); else by an
// all-gather over `control`, a group for CPU tensors. `posts_late`: ranks post after the last backward of the step.
// `as_tree`: losses are added as total_of() does then. `watched`: the parameters whose gradients are looked at; empty:
// none. It outlives the exchange.
std::unique_ptr<StepExchange> make_step_exchange(record::SharedProgress& shared, int rank, const dist::Group& control,
                                                 bool posts_late, bool as_tree, const NamedTensors& watched);

}  // namespace ddp::train
