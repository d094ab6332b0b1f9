#include "train/stepper.h"

#include <cmath>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/scalar_tensor.h>
#include <c10/util/StringUtil.h>

#include "model/call.h"

namespace ddp::train {

using record::Phase;

namespace {

// Returns "10 of 160 inputs, the first at [3, 0] of [16, 10]"; "": all numbers are finite.
std::string not_finite_in_words(const at::Tensor& numbers, const std::string& name) {
  const at::Tensor places = at::isfinite(numbers).logical_not().nonzero().cpu();
  if (places.size(0) == 0) return "";
  const at::Tensor first = places[0].contiguous();  // nonzero() gives rows that are not contiguous
  return std::to_string(places.size(0)) + " of " + std::to_string(numbers.numel()) + " " + name + ", the first at " +
         c10::str(at::IntArrayRef(first.const_data_ptr<std::int64_t>(), static_cast<std::size_t>(first.numel()))) +
         " of " + c10::str(numbers.sizes());
}

// Describes the first tensor of a micro-batch that holds inf or NaN.
std::string not_finite_in(const std::vector<at::Tensor>& inputs, const datasets::Batch& batch) {
  std::string found;
  for (const at::Tensor& input : inputs) {
    if (found.empty()) found = not_finite_in_words(input, "inputs");
  }
  for (const auto& [name, target] : batch.targets) {
    if (found.empty()) found = not_finite_in_words(target, "targets");
  }
  return found;
}

}  // namespace

Stepper::Stepper(const TrainerParts& parts, StepExchange& exchange, Scaler* scaler,
                 std::function<void(std::int64_t samples)> batch_loaded)
    : p_(parts),
      exchange_(exchange),
      scaler_(scaler),
      batch_loaded_(std::move(batch_loaded)),
      batches_(p_.batches, p_.loss, p_.experiment.weighs_samples(), p_.group, p_.recorder),
      numerics_(model::Numerics::of(p_.experiment)),
      clip_(p_.experiment.clip) {
  // GradScaler looks at the gradients itself.
  if (scaler_ == nullptr) {
    watch_.emplace(p_.model.parameters(), [this](std::size_t bad) { exchange_.gradient_not_finite(bad); });
  }
  replay_.emplace(p_, watch_ ? &*watch_ : nullptr);
}

StepOutcome Stepper::take(std::int64_t step, double lr, std::int64_t micro_batches) {
  p_.model.zero_grad();
  exchange_.begin(step + 1);
  if (watch_) watch_->take_first();  // of a step before
  if (p_.experiment.on_nan == "skip") keep_buffers();
  p_.enter(Phase::loading);
  batches_.start(step, micro_batches);
  for (std::int64_t i = 0; i + 1 < micro_batches; ++i) {
    const dist::Parallel::NoSync no_sync(p_.model);
    run_micro_batch({.first = i == 0, .last = false, .micro_batches = micro_batches});
  }
  run_micro_batch({.first = micro_batches == 1, .last = true, .micro_batches = micro_batches});
  p_.enter(Phase::optimizer);
  StepOutcome outcome{.not_finite = exchange_.not_finite(), .grad_norm = {}};
  update(lr, outcome);
  return outcome;
}

// The gradients are reduced over all ranks, so every rank makes the same decision.
void Stepper::update(double lr, StepOutcome& outcome) {
  // Needed even if the step leaves the weights unchanged: their average is updated after every step.
  p_.checkpointer.before_update();
  if (scaler_ != nullptr || clip_.on()) {
    const std::vector<at::Tensor> gradients = gradients_of(p_.model.parameters());
    if (scaler_ != nullptr) outcome.skipped = !scaler_->unscale(gradients);
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

void Stepper::run_micro_batch(const Replay::Place& place) {
  p_.enter(Phase::loading);
  const datasets::Batch batch = batches_.next();
  const std::vector<at::Tensor> inputs = p_.loss.model_inputs(batch, numerics_, p_.device);
  batch_loaded_(batch.samples());
  p_.enter(Phase::forward);
  p_.model.begin_forward();
  std::vector<at::Tensor> tensors = inputs;
  for (const auto& [name, target] : batch.targets) tensors.push_back(target);
  const bool replays = replay_->begin(place, std::move(tensors));
  at::Tensor loss;
  if (replays) {
    try {
      const std::vector<at::Tensor>& outputs = replay_->forward();
      loss = outputs.back();
      batches_.add(at::TensorList(outputs).slice(0, outputs.size() - 1), batch.samples());
    } catch (const c10::Error&) {
      loss_of(inputs, batch);  // fails too, with the words of the layer
      throw;
    }
  } else {
    {
      const Replay::Window window(*replay_);
      loss = loss_of(inputs, batch);
    }
    std::vector<at::Tensor> outputs = batches_.last_losses();
    outputs.push_back(loss);
    replay_->forward_done(std::move(outputs));
  }
  p_.enter(Phase::backward);
  // On a CPU the loss is available now. On a GPU it is read once all work of the step is queued.
  const bool post_early = p_.device.is_cpu();
  const bool last = place.last;
  if (!last && post_early && !std::isfinite(loss.item<double>())) bad_data_ = not_finite_in(inputs, batch);
  if (last && post_early) post_losses(loss, inputs, batch);
  if (replays) {
    replay_->backward();
  } else {
    {
      const Replay::Window window(*replay_);
      (scaler_ != nullptr ? scaler_->scaled(loss) : loss).backward();
    }
    replay_->backward_done();
  }
  if (last && !post_early) post_losses(loss, inputs, batch);
}

void Stepper::post_losses(const at::Tensor& loss, const std::vector<at::Tensor>& inputs, const datasets::Batch& batch) {
  const LossSum losses = batches_.read_losses();
  if (watch_ && !p_.device.is_cpu()) {
    if (const auto bad = watch_->take_first()) exchange_.gradient_not_finite(*bad);
  }
  exchange_.post(losses);
  if (!losses.finite() && !std::isfinite(loss.item<double>())) bad_data_ = not_finite_in(inputs, batch);
}

void StepBatches::start(std::int64_t step, std::int64_t micro_batches) {
  batches_.start_step(step);
  micro_batches_ = micro_batches;
  if (divides_) count_targets();
}

void StepBatches::count_targets() {
  own_count_ = 0;
  loaded_.clear();
  for (std::int64_t i = 0; i < micro_batches_; ++i) {
    loaded_.push_back(load());
    const at::Tensor& target = only_target(loaded_.back().targets);
    const at::Tensor& weights = loaded_.back().weights;
    own_count_ += weights.defined() ? loss_.count(target, weights) : loss_.count(target);
  }
  const auto of_ranks = dist::all_gather(group_, at::scalar_tensor(own_count_, at::kDouble));
  ranks_ = static_cast<double>(of_ranks.size());
  all_count_ = 0;
  for (const at::Tensor& count : of_ranks) all_count_ += count.item<double>();
}

datasets::Batch StepBatches::load() {
  const record::AsideTimer time(recorder_, record::Aside::waiting_for_data);
  return batches_.next();
}

datasets::Batch StepBatches::next() {
  if (loaded_.empty()) return load();
  datasets::Batch batch = std::move(loaded_.front());
  loaded_.pop_front();
  return batch;
}

at::Tensor StepBatches::loss(NamedTensors outputs, const datasets::Batch& batch) {
  BatchLoss loss;
  if (divides_) {
    const at::Tensor &output = model::main_output(outputs), &target = only_target(batch.targets);
    loss.value = batch.weights.defined() ? loss_.sum(output, target, batch.weights) : loss_.sum(output, target);
  } else if (loss_.graph() != nullptr && loss_.graph()->gathers && group_) {
    NamedTensors targets = batch.targets;
    for (NamedTensors* list : {&outputs, &targets}) {
      for (auto& [name, tensor] : *list) tensor = dist::gather_rows(group_, tensor);
    }
    loss = loss_(outputs, targets);
  } else {
    loss = loss_(outputs, batch.targets);
  }
  const at::Tensor value = loss.value;
  losses_.push_back(
      {.loss = {.value = value.detach(), .scalars = std::move(loss.scalars)}, .samples = batch.samples()});
  if (divides_) return all_count_ == 0 ? value * 0 : value * ranks_ / all_count_;
  // Multiplication by 1/k would give other bits.
  return micro_batches_ > 1 ? value / micro_batches_ : value;
}

void StepBatches::add(at::TensorList losses, std::int64_t samples) {
  // Their memory is the next micro-batch's too.
  const auto kept = [this](const at::Tensor& value) { return micro_batches_ > 1 ? value.clone() : value; };
  BatchLoss loss{.value = kept(losses.front())};
  for (std::size_t i = 1; i < losses.size(); ++i) loss.scalars.emplace_back("", kept(losses[i]));
  losses_.push_back({.loss = std::move(loss), .samples = samples});
}

std::vector<at::Tensor> StepBatches::last_losses() const {
  const BatchLoss& last = losses_.back().loss;
  std::vector<at::Tensor> losses = {last.value};
  for (const auto& [name, scalar] : last.scalars) losses.push_back(scalar);
  return losses;
}

LossSum StepBatches::read_losses() {
  LossSum sum;
  for (const auto& [loss, samples] : std::exchange(losses_, {})) {
    if (divides_) {
      sum.add({.sum = loss.value.item<double>(), .weight = 0, .samples = samples});
    } else {
      sum.add(loss, samples);
    }
  }
  if (divides_) sum.weight = own_count_;
  return sum;
}

}  // namespace ddp::train
