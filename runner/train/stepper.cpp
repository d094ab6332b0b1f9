#include "train/stepper.h"

namespace ddp::train {

using record::Phase;

StepOutcome Stepper::take(std::int64_t step, double lr, std::int64_t micro_batches) {
  p_.model.zero_grad();
  enter(Phase::loading);
  batches_.start(step, micro_batches);
  for (std::int64_t i = 0; i + 1 < micro_batches; ++i) {
    const dist::Parallel::NoSync no_sync(p_.model);
    run_micro_batch(step, /*last=*/false);
  }
  run_micro_batch(step, /*last=*/true);
  enter(Phase::optimizer);
  const std::optional<int> not_finite = p_.exchange.not_finite();
  if (!not_finite) {
    p_.checkpointer.before_update();
    p_.optimizer.step(lr);
  }
  return {.not_finite = not_finite};
}

void Stepper::run_micro_batch(std::int64_t step, bool last) {
  enter(Phase::loading);
  const datasets::Batch batch = batches_.next();
  const std::vector<at::Tensor> inputs = on_device(batch.inputs, p_.device);
  p_.batch_loaded(batch.samples());
  enter(Phase::forward);
  const at::Tensor output = p_.model.forward(inputs);
  const at::Tensor loss = batches_.loss(output, batch);
  enter(Phase::backward);
  // The loss of a CPU is there already. That of a GPU is read when all of the step's work is queued.
  const bool post_early = p_.device.is_cpu();
  if (last && post_early) p_.exchange.post(step + 1, batches_.read_losses());
  loss.backward();
  if (last && !post_early) p_.exchange.post(step + 1, batches_.read_losses());
}

}  // namespace ddp::train
