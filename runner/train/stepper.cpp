#include "train/stepper.h"

#include <cmath>
#include <utility>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/scalar_tensor.h>
#include <c10/util/StringUtil.h>
#include <torch/csrc/autograd/autograd.h>

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

// Returns "no target of its micro-batch counts: all are 255"; "": that is not so. A mean over no target is NaN.
std::string ignored_in_words(const datasets::Batch& batch, std::int64_t ignored) {
  constexpr std::int64_t kUsual = 255;  // in data of images
  if (batch.targets.size() != 1) return "";
  const at::Tensor& target = batch.targets.front().second;
  if (target.numel() == 0 || !at::isIntegralType(target.scalar_type(), /*includeBool=*/false)) return "";
  const auto first = target.flatten()[0].item<std::int64_t>();
  const bool may_be_ignored = first < 0 || first == ignored || first == kUsual;
  if (!may_be_ignored || target.ne(first).any().item<bool>()) return "";
  return std::string(record::kNothingCounts) + ": all are " + std::to_string(first);
}

// Describes the first tensor of a micro-batch that holds inf or NaN.
std::string not_finite_in(const std::vector<at::Tensor>& inputs, const datasets::Batch& batch, std::int64_t ignored) {
  std::string found;
  for (const at::Tensor& input : inputs) {
    if (found.empty()) found = not_finite_in_words(input, "inputs");
  }
  for (const auto& [name, target] : batch.targets) {
    if (found.empty()) found = not_finite_in_words(target, "targets");
  }
  if (!found.empty()) return std::string(record::kDataNotFinite) + ": " + found;
  return ignored_in_words(batch, ignored);
}

void copy_buffers(const NamedTensors& from, std::vector<at::Tensor>& to) {
  const at::NoGradGuard no_grad;
  to.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (to[i].defined()) {
      to[i].copy_(from[i].second);
    } else {
      to[i] = from[i].second.clone();
    }
  }
}

// Autograd, which may have saved a buffer, does not see the change.
void copy_buffers(const std::vector<at::Tensor>& from, const NamedTensors& to) {
  const at::AutoDispatchBelowADInplaceOrView unversioned;
  for (std::size_t i = 0; i < from.size(); ++i) to[i].second.copy_(from[i]);
}

}  // namespace

Stepper::Stepper(const TrainerParts& parts, StepExchange& exchange, Scaler* scaler,
                 std::function<void(std::int64_t samples)> batch_loaded)
    : p_(parts),
      exchange_(exchange),
      scaler_(scaler),
      batch_loaded_(std::move(batch_loaded)),
      batches_(p_),
      numerics_(model::Numerics::of(p_.experiment)),
      clip_(p_.experiment.clip) {
  // GradScaler looks at the gradients itself.
  if (scaler_ == nullptr) {
    const bool alone = !p_.device.is_cpu() && p_.shared.ranks() == 1 && !p_.control;
    watch_.emplace(
        p_.model.parameters(), [this](std::size_t bad) { exchange_.gradient_not_finite(bad); }, /*at_end=*/alone);
  }
  replay_.emplace(p_, watch_ ? &*watch_ : nullptr);
  if (p_.experiment.syncs_batch_norm() && p_.logical_ranks > 1) {
    own_buffers_.resize(static_cast<std::size_t>(p_.logical_ranks));
    turns_.emplace(p_.logical_ranks, [this](int logical) { take_turn(logical); });
  }
}

StepOutcome Stepper::take(std::int64_t step, double lr, std::int64_t micro_batches) {
  exchange_.begin(step + 1);
  if (watch_) watch_->forget();  // a step before
  p_.enter(Phase::loading);
  batches_.start(step, micro_batches);
  if (turns_) {
    run_in_turns(micro_batches);
  } else {
    for (int logical = 0; logical < p_.logical_ranks; ++logical) run_logical_rank(logical, micro_batches);
    if (p_.logical_ranks > 1) copy_buffers(first_buffers_, p_.model.buffers());
  }
  p_.enter(Phase::optimizer);
  StepOutcome outcome{.not_finite = exchange_.not_finite(), .grad_norm = {}};
  update(lr, outcome);
  return outcome;
}

// The buffers of the first logical rank stay, as those of rank 0 do.
void Stepper::run_logical_rank(int logical, std::int64_t micro_batches) {
  const bool last = logical + 1 == p_.logical_ranks;
  batches_.choose(logical);
  p_.model.zero_grad();
  if (logical > 0) copy_buffers(kept_buffers_, p_.model.buffers());
  for (std::int64_t i = 0; i < micro_batches; ++i) {
    const Replay::Place place{.first = i == 0,
                              .begins_step = i == 0 && logical == 0,
                              .syncs = last && i + 1 == micro_batches,
                              .micro_batches = micro_batches};
    std::optional<dist::Parallel::NoSync> no_sync;
    if (!place.syncs) no_sync.emplace(p_.model);
    run_micro_batch(place);
  }
  if (logical == 0 && !last) copy_buffers(p_.model.buffers(), first_buffers_);
  if (!last) p_.model.keep_gradients();
}

// Each logical rank gets its own gradients, apart from those of the parameters, which all share. Then they are added up
// as if the logical ranks had run one after another.
void Stepper::run_in_turns(std::int64_t micro_batches) {
  const std::vector<at::Tensor> parameters = tensors_of(trained_of(p_.model.parameters()));
  std::vector<std::vector<at::Tensor>> gradients(own_buffers_.size());
  p_.model.zero_grad();
  p_.model.begin_forward();
  copy_buffers(p_.model.buffers(), kept_buffers_);
  for (std::vector<at::Tensor>& own : own_buffers_) copy_buffers(p_.model.buffers(), own);
  {
    const dist::Parallel::NoSync no_sync(p_.model);
    turns_->run([&](int logical) {
      std::vector<at::Tensor>& sums = gradients[static_cast<std::size_t>(logical)];
      for (std::int64_t i = 0; i < micro_batches; ++i) add_gradients_of_next(parameters, sums);
    });
  }
  take_turn(0);  // its buffers stay
  exchange_.post(batches_.read_losses());
  p_.enter(Phase::backward);
  for (int logical = 0; logical < p_.logical_ranks; ++logical) {
    const bool last = logical + 1 == p_.logical_ranks;
    std::optional<dist::Parallel::NoSync> no_sync;
    if (!last) no_sync.emplace(p_.model);
    p_.model.zero_grad();
    p_.model.add_gradients(std::exchange(gradients[static_cast<std::size_t>(logical)], {}));
    if (!last) p_.model.keep_gradients();
  }
}

void Stepper::take_turn(int logical) {
  batches_.choose(logical);
  if (logical == turn_) return;
  copy_buffers(p_.model.buffers(), own_buffers_[static_cast<std::size_t>(turn_)]);
  copy_buffers(own_buffers_[static_cast<std::size_t>(logical)], p_.model.buffers());
  turn_ = logical;
}

void Stepper::add_gradients_of_next(const std::vector<at::Tensor>& parameters, std::vector<at::Tensor>& sums) {
  p_.progress().enter(Phase::loading);
  const auto [batch, inputs] = next_micro_batch();
  p_.progress().enter(Phase::forward);
  const at::Tensor loss = loss_of(inputs, batch);
  p_.progress().enter(Phase::backward);
  if (!std::isfinite(loss.item<double>())) bad_data_ = not_finite_in(inputs, batch, p_.experiment.ignored_target());
  const std::vector<at::Tensor> gradients =
      torch::autograd::grad({scaler_ != nullptr ? scaler_->scaled(loss) : loss}, parameters, /*grad_outputs=*/{},
                            /*retain_graph=*/std::nullopt, /*create_graph=*/false, /*allow_unused=*/true);
  sums.resize(gradients.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (gradients[i].defined()) sums[i] = sums[i].defined() ? sums[i] + gradients[i] : gradients[i];
  }
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
  if (outcome.not_finite && keeps_buffers()) copy_buffers(kept_buffers_, p_.model.buffers());
  if (outcome.not_finite || outcome.skipped) return;
  p_.optimizer.step(lr);
}

at::Tensor Stepper::loss_of(const std::vector<at::Tensor>& inputs, const datasets::Batch& batch) {
  // The same casts for any number of ranks: the logical ranks that take turns cannot keep theirs.
  const bool caches = !p_.experiment.syncs_batch_norm() || !p_.experiment.logical_ranks;
  const model::Autocast casts(numerics_.precision, p_.device, caches);
  return batches_.loss(p_.model.forward(inputs), batch);
}

std::pair<datasets::Batch, std::vector<at::Tensor>> Stepper::next_micro_batch() {
  datasets::Batch batch = batches_.next();
  std::vector<at::Tensor> inputs = p_.loss.model_inputs(batch, numerics_, p_.device);
  batch_loaded_(batch.samples());
  return {std::move(batch), std::move(inputs)};
}

void Stepper::run_micro_batch(const Replay::Place& place) {
  p_.enter(Phase::loading);
  const auto [batch, inputs] = next_micro_batch();
  p_.enter(Phase::forward);
  p_.model.begin_forward();
  if (place.begins_step && keeps_buffers()) copy_buffers(p_.model.buffers(), kept_buffers_);
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
  const bool last = place.syncs;
  if (!last && post_early && !std::isfinite(loss.item<double>()))
    bad_data_ = not_finite_in(inputs, batch, p_.experiment.ignored_target());
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
  // A GPU gets the look at the gradients before anything waits for it.
  if (watch_ && !p_.device.is_cpu()) {
    if (const auto bad = watch_->take_first()) exchange_.gradient_not_finite(*bad);
  }
  const LossSum losses = batches_.read_losses();
  exchange_.post(losses);
  if (!losses.finite() && !std::isfinite(loss.item<double>()))
    bad_data_ = not_finite_in(inputs, batch, p_.experiment.ignored_target());
}

StepBatches::StepBatches(const TrainerParts& parts)
    : p_(parts),
      divides_(parts.experiment.weighs_samples() || parts.loss.divides_by_count()),
      loaded_(static_cast<std::size_t>(parts.logical_ranks)),
      losses_(loaded_.size()) {}

void StepBatches::choose(int logical) {
  p_.batches.choose(logical);
  chosen_ = static_cast<std::size_t>(logical);
}

void StepBatches::start(std::int64_t step, std::int64_t micro_batches) {
  p_.batches.start_step(step);
  micro_batches_ = micro_batches;
  if (divides_) count_targets();
}

double StepBatches::total(const std::vector<double>& numbers) const {
  std::vector<LossSum> sums;
  for (const double number : numbers) sums.push_back({.sum = number});
  return total_of(std::move(sums), p_.experiment.logical_ranks.has_value()).sum;
}

void StepBatches::count_targets() {
  own_counts_.clear();
  for (int logical = 0; logical < p_.logical_ranks; ++logical) {
    choose(logical);
    loaded_[chosen_].clear();
    own_counts_.push_back(0);
    for (std::int64_t i = 0; i < micro_batches_; ++i) {
      loaded_[chosen_].push_back(p_.batches.next());
      own_counts_.back() += p_.loss.count(loaded_[chosen_].back());
    }
  }
  std::vector<double> of_ranks;
  for (const at::Tensor& count : dist::all_gather(p_.group, at::scalar_tensor(total(own_counts_), at::kDouble))) {
    of_ranks.push_back(count.item<double>());
  }
  ranks_ = static_cast<double>(of_ranks.size()) * p_.logical_ranks;
  all_count_ = total(of_ranks);
}

datasets::Batch StepBatches::next() {
  std::deque<datasets::Batch>& loaded = loaded_[chosen_];
  if (loaded.empty()) return p_.batches.next();
  datasets::Batch batch = std::move(loaded.front());
  loaded.pop_front();
  return batch;
}

at::Tensor StepBatches::loss(NamedTensors outputs, const datasets::Batch& batch) {
  BatchLoss loss;
  if (divides_) {
    loss = p_.loss.sum(outputs, batch);
  } else if (p_.loss.graph() != nullptr && p_.loss.graph()->gathers && p_.group) {
    NamedTensors targets = batch.targets;
    for (NamedTensors* list : {&outputs, &targets}) {
      for (auto& [name, tensor] : *list) tensor = dist::gather_rows(p_.group, tensor);
    }
    loss = p_.loss(outputs, targets);
  } else {
    loss = p_.loss(outputs, batch.targets);
  }
  const at::Tensor value = loss.value;
  const double weight = divides_ && !loss.scalars.empty() ? p_.loss.count(batch) : 0;
  losses_[chosen_].push_back({.loss = {.value = value.detach(), .scalars = std::move(loss.scalars)},
                              .samples = batch.samples(),
                              .weight = weight});
  if (divides_) return all_count_ == 0 ? value * 0 : value * ranks_ / all_count_;
  // Multiplication by 1/k would give other bits.
  return micro_batches_ > 1 ? value / micro_batches_ : value;
}

void StepBatches::add(at::TensorList losses, std::int64_t samples) {
  // Their memory is the next micro-batch's too.
  const bool more = micro_batches_ > 1 || p_.logical_ranks > 1;
  const auto kept = [more](const at::Tensor& value) { return more ? value.clone() : value; };
  BatchLoss loss{.value = kept(losses.front())};
  for (std::size_t i = 1; i < losses.size(); ++i) loss.scalars.emplace_back("", kept(losses[i]));
  losses_[chosen_].push_back({.loss = std::move(loss), .samples = samples, .weight = 0});
}

std::vector<at::Tensor> StepBatches::last_losses() const {
  const BatchLoss& last = losses_[chosen_].back().loss;
  std::vector<at::Tensor> losses = {last.value};
  for (const auto& [name, scalar] : last.scalars) losses.push_back(scalar);
  return losses;
}

LossSum StepBatches::read_losses() {
  std::vector<LossSum> of_logical_ranks;
  for (std::vector<OfMicroBatch>& losses : losses_) {
    LossSum& sum = of_logical_ranks.emplace_back();
    for (const auto& [loss, samples, weight] : std::exchange(losses, {})) {
      if (divides_) {
        sum.add(loss, weight, samples);
      } else {
        sum.add(loss, samples);
      }
    }
  }
  LossSum all = total_of(std::move(of_logical_ranks), p_.experiment.logical_ranks.has_value());
  if (divides_) all.weight = total(own_counts_);
  return all;
}

}  // namespace ddp::train
