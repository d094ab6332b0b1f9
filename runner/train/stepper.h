#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "config/experiment.h"
#include "data/batches.h"
#include "dist/parallel/parallel.h"
#include "model/numerics.h"
#include "record/shared_progress.h"
#include "train/checkpointer.h"
#include "train/clip.h"
#include "train/gradients.h"
#include "train/loss/loss.h"
#include "train/not_finite.h"
#include "train/optim/grouped_optimizer.h"
#include "train/rules/scaler.h"
#include "train/step_batches.h"
#include "train/step_exchange.h"

namespace ddp::train {

// The parts of an optimizer step on one rank. All of them outlive the stepper.
struct StepperParts {
  const config::Experiment& experiment;
  c10::Device device = c10::kCPU;
  dist::Group group;
  dist::Parallel& model;
  GroupedOptimizer& optimizer;
  const Loss& loss;
  data::Batches& batches;
  Checkpointer& checkpointer;
  StepExchange& exchange;
  record::RankProgress& progress;
  Scaler* scaler;                                          // for fp16; else null
  std::function<void(std::int64_t samples)> batch_loaded;  // called with the size of each micro-batch
};

// The result of one optimizer step. It is the same on every rank.
struct StepOutcome {
  std::optional<NotFinite> not_finite;  // a loss or gradient: weights and buffers stay as they were
  at::Tensor grad_norm;                 // before clipping; undefined: the norm is not clipped
  bool skipped = false;                 // fp16: a gradient is not finite, so the weights are not changed
};

// Takes one optimizer step: forward and backward of its micro-batches, then the update of the weights.
class Stepper {
 public:
  explicit Stepper(StepperParts parts)
      : p_(std::move(parts)),
        batches_(p_.batches, p_.loss, p_.group),
        numerics_(model::Numerics::of(p_.experiment)),
        clip_(p_.experiment.clip) {
    // GradScaler looks at the gradients itself.
    if (p_.scaler != nullptr) return;
    watch_.emplace(p_.model.parameters(), [this](std::size_t bad) { p_.exchange.gradient_not_finite(bad); });
  }

  // `step`: number of steps done before this one. `micro_batches`: number of micro-batches in this step. Collective.
  StepOutcome take(std::int64_t step, double lr, std::int64_t micro_batches);
  // The largest numbers of this rank's last micro-batch without a finite loss. On a GPU only the last micro-batch of a
  // step is looked at, because reading a loss waits for the device.
  const LargestNumbers& largest() const { return largest_; }

 private:
  // Runs forward and loss under autocast; backward runs outside it.
  at::Tensor loss_of(const std::vector<at::Tensor>& inputs, const datasets::Batch& batch);
  void run_micro_batch(bool last);
  // Gives the losses of the step to the exchange; `loss`, `inputs` and `batch`: of its last micro-batch.
  void post_losses(const at::Tensor& loss, const std::vector<at::Tensor>& inputs, const datasets::Batch& batch);
  // The buffers as a step finds them, if a step that is left out must leave them so: a loss that is not finite may have
  // entered the running statistics of a batch norm. Every rank restores its own, so they agree as they did before.
  void keep_buffers();
  void restore_buffers();
  // Unscales and clips the gradients, then updates the weights unless a gradient or a loss is not finite.
  void update(double lr, StepOutcome& outcome);
  void enter(record::Phase phase) {
    p_.progress.phase.store(phase, std::memory_order_relaxed);
    p_.progress.note_activity();
  }

  StepperParts p_;
  StepBatches batches_;
  const model::Numerics numerics_;
  const Clip clip_;
  std::vector<at::Tensor> kept_buffers_;
  LargestNumbers largest_;
  std::optional<GradientWatch> watch_;
};

}  // namespace ddp::train
