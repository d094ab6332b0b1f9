#include "train/stepper.h"

#include <cmath>

#include <ATen/core/grad_mode.h>

namespace ddp::train {

using record::Phase;

StepOutcome Stepper::take(std::int64_t step, double lr, std::int64_t micro_batches) {
  p_.model.zero_grad();
  p_.exchange.begin(step + 1);
  if (watch_) watch_->take_first();  // of a step before
  if (p_.experiment.on_nan == "skip") keep_buffers();
  enter(Phase::loading);
  batches_.start(step, micro_batches);
  for (std::int64_t i = 0; i + 1 < micro_batches; ++i) {
    const dist::Parallel::NoSync no_sync(p_.model);
    run_micro_batch(/*last=*/false);
  }
  run_micro_batch(/*last=*/true);
  enter(Phase::optimizer);
  StepOutcome outcome{.not_finite = p_.exchange.not_finite(), .grad_norm = {}};
  update(lr, outcome);
  return outcome;
}

// The gradients are reduced over all ranks, so every rank makes the same decision.
void Stepper::update(double lr, StepOutcome& outcome) {
  // Needed even if the step leaves the weights unchanged: their average is updated after every step.
  p_.checkpointer.before_update();
  if (p_.scaler != nullptr || clip_.on()) {
    const std::vector<at::Tensor> gradients = gradients_of(p_.model.parameters());
    if (p_.scaler != nullptr) outcome.skipped = !p_.scaler->unscale(gradients);
    outcome.grad_norm = clip_(gradients);
  }
  if (outcome.not_finite) restore_buffers();
  if (outcome.not_finite || outcome.skipped) return;
  p_.optimizer.step(lr);
}

void Stepper::keep_buffers() {
  const at::NoGradGuard no_grad;
  const NamedTensors& buffers = p_.model.buffers();
  if (kept_buffers_.empty()) {
    for (const auto& [name, buffer] : buffers) kept_buffers_.push_back(buffer.clone());
    return;
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) kept_buffers_[i].copy_(buffers[i].second);
}

void Stepper::restore_buffers() {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < kept_buffers_.size(); ++i) p_.model.buffers()[i].second.copy_(kept_buffers_[i]);
}

at::Tensor Stepper::loss_of(const std::vector<at::Tensor>& inputs, const datasets::Batch& batch) {
  const model::Autocast casts(numerics_.precision, p_.device);
  return batches_.loss(p_.model.forward(inputs), batch);
}

void Stepper::run_micro_batch(bool last) {
  enter(Phase::loading);
  const datasets::Batch batch = batches_.next();
  const std::vector<at::Tensor> inputs = numerics_.prepared(on_device(batch.inputs, p_.device));
  p_.batch_loaded(batch.samples());
  enter(Phase::forward);
  const at::Tensor loss = loss_of(inputs, batch);
  enter(Phase::backward);
  // On a CPU the loss is available now. On a GPU it is read once all work of the step is queued.
  const bool post_early = p_.device.is_cpu();
  if (!last && post_early && !std::isfinite(loss.item<double>())) largest_ = largest_of(inputs, batch);
  if (last && post_early) post_losses(loss, inputs, batch);
  (p_.scaler != nullptr ? p_.scaler->scaled(loss) : loss).backward();
  if (last && !post_early) post_losses(loss, inputs, batch);
}

void Stepper::post_losses(const at::Tensor& loss, const std::vector<at::Tensor>& inputs, const datasets::Batch& batch) {
  const LossSum losses = batches_.read_losses();
  if (watch_ && !p_.device.is_cpu()) {
    if (const auto bad = watch_->take_first()) p_.exchange.gradient_not_finite(*bad);
  }
  p_.exchange.post(losses);
  if (!losses.finite() && !std::isfinite(loss.item<double>())) largest_ = largest_of(inputs, batch);
}

}  // namespace ddp::train
