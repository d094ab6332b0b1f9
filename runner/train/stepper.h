#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dist/turns.h"
#include "model/numerics.h"
#include "train/gradients.h"
#include "train/parts.h"
#include "train/replay.h"
#include "train/rules.h"
#include "train/step_exchange.h"

namespace ddp::train {

// The micro-batches of an optimizer step on one rank, of one of its logical ranks after the other, and their losses. If
// the loss divides by the total weight of the targets, or samples have weights, all micro-batches of the step are
// loaded before the first forward, because each gradient needs the total of all micro-batches on all ranks.
class StepBatches {
 public:
  // `parts` outlive this object.
  explicit StepBatches(const TrainerParts& parts);

  // Begins a step; `step`: number of steps done before it, `micro_batches`: of each logical rank. Collective if the
  // step divides by the weight of its targets.
  void start(std::int64_t step, std::int64_t micro_batches);
  // Goes on with the micro-batches of a logical rank of this rank, counted from 0.
  void choose(int logical);
  // Returns the next micro-batch of the step.
  datasets::Batch next();
  // Returns the loss of a micro-batch, scaled so that the gradients of the step's micro-batches add up. The value is
  // the mean over the batch divided by the number of micro-batches; or the sum over the targets, times the world size,
  // divided by the weight of all targets of the step. Ranks average their gradients.
  at::Tensor loss(NamedTensors outputs, const datasets::Batch& batch);
  // Adds the losses of a micro-batch that was computed otherwise: those that last_losses() returned for one like it.
  void add(at::TensorList losses, std::int64_t samples);
  // Returns the loss of the last micro-batch, and its scalars.
  std::vector<at::Tensor> last_losses() const;
  // Returns the summed losses of this rank's micro-batches. Called once a step, because reading a loss waits for the
  // device.
  LossSum read_losses();

 private:
  // Loads the step's micro-batches and sums the weights of the targets of all ranks.
  void count_targets();

  // Adds up numbers of the ranks or of the logical ranks, in the order in which gradients are added.
  double total(const std::vector<double>& numbers) const;

  const TrainerParts& p_;
  const bool divides_;              // each step divides by the weight of all its targets
  std::int64_t micro_batches_ = 0;  // of the step on each logical rank
  double all_count_ = 0;            // weight of all ranks' targets
  double ranks_ = 1;
  struct OfMicroBatch {
    BatchLoss loss;  // of the mean or the sum
    std::int64_t samples;
    double weight;  // of the sum, if scalars come with it
  };
  // Of each logical rank of this rank.
  std::vector<std::deque<datasets::Batch>> loaded_;
  std::vector<double> own_counts_;  // weight of its targets
  std::vector<std::vector<OfMicroBatch>> losses_;
  std::size_t chosen_ = 0;  // logical rank
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
  // The arguments outlive the stepper. `scaler`: for fp16; else null. `batch_loaded` gets the size of each micro-batch.
  Stepper(const TrainerParts& parts, StepExchange& exchange, Scaler* scaler,
          std::function<void(std::int64_t samples)> batch_loaded);

  // `step`: number of steps done before this one. `micro_batches`: number of micro-batches in this step. Collective.
  StepOutcome take(std::int64_t step, double lr, std::int64_t micro_batches);
  // Tells which inputs or targets of this rank's last micro-batch without a finite loss are inf or NaN; "": none. On a
  // GPU only the last micro-batch of a step is looked at, because reading a loss waits for the device.
  const std::string& bad_data() const { return bad_data_; }
  const Replay& replay() const { return *replay_; }

 private:
  // Loads the next micro-batch, and returns it with the inputs of the model.
  std::pair<datasets::Batch, std::vector<at::Tensor>> next_micro_batch();
  // Runs forward and loss under autocast; backward runs outside it.
  at::Tensor loss_of(const std::vector<at::Tensor>& inputs, const datasets::Batch& batch);
  void run_micro_batch(const Replay::Place& place);
  // Gives the losses of the step to the exchange; `loss`, `inputs` and `batch`: of its last micro-batch.
  void post_losses(const at::Tensor& loss, const std::vector<at::Tensor>& inputs, const datasets::Batch& batch);
  void run_logical_rank(int logical, std::int64_t micro_batches);
  // Runs the logical ranks of this rank in turns, because their batch norms wait for each other.
  void run_in_turns(std::int64_t micro_batches);
  // Runs the next micro-batch, and adds its gradients for these parameters to the sums; undefined: none.
  void add_gradients_of_next(const std::vector<at::Tensor>& parameters, std::vector<at::Tensor>& sums);
  void take_turn(int logical);
  // The buffers as the first forward of a step finds them. A step that is left out must leave them so: a loss that is
  // not finite may have entered the running statistics of a batch norm. Each logical rank begins with them too.
  bool keeps_buffers() const { return p_.experiment.on_nan == "skip" || p_.logical_ranks > 1; }
  // Unscales and clips the gradients, then updates the weights unless a gradient or a loss is not finite.
  void update(double lr, StepOutcome& outcome);

  const TrainerParts& p_;
  StepExchange& exchange_;
  Scaler* const scaler_;
  const std::function<void(std::int64_t samples)> batch_loaded_;
  StepBatches batches_;
  const model::Numerics numerics_;
  const Clip clip_;
  std::vector<at::Tensor> kept_buffers_;
  std::vector<at::Tensor> first_buffers_;  // after the first logical rank
  std::string bad_data_;
  std::optional<GradientWatch> watch_;
  std::optional<Replay> replay_;
  std::vector<std::vector<at::Tensor>> own_buffers_;  // of each logical rank that does not have the turn
  int turn_ = 0;
  std::optional<dist::Turns> turns_;  // nothing: a logical rank runs as a whole
};

}  // namespace ddp::train
