#include "train/trainer.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

#include <ATen/ops/scalar_tensor.h>

#include "base/error.h"
#include "model/numerics.h"
#include "record/saves/checkpoint_settings.h"
#include "record/saves/data_files.h"
#include "record/summary.h"

namespace ddp::train {

using record::Phase;
using record::SaveReason;

namespace {

// The memory for a save by time is allocated when this share of the interval has passed.
constexpr double kReadyAfter = 0.9;

const NamedTensors kUnwatched;  // GradScaler looks at the gradients of fp16

// Returns the error of a run that ends after a step with a loss or a gradient that is not finite. `bad_data`: of the
// rank's micro-batch; `parameters`: their names.
Error step_not_finite(const config::Experiment& e, std::int64_t step, const NotFinite& found,
                      const std::string& bad_data, const NamedTensors& parameters) {
  std::string what = (found.parameter ? "the gradient" : "the loss") + std::string(" of step ") + std::to_string(step) +
                     record::kLossNotFinite + " (first on rank " + std::to_string(found.rank) + ")";
  const bool of_data = !found.parameter && !bad_data.empty();
  if (found.parameter) {
    what += ", first in the parameter \"" + parameters[*found.parameter].first + "\", while the loss was finite";
  } else if (of_data) {
    what += ", for " + bad_data;
  }
  std::string remedy = !of_data                                       ? "give a smaller lr, or data on a small scale"
                       : bad_data.starts_with(record::kNothingCounts) ? "leave such samples out, or give larger batches"
                                                                      : "correct these values in the data";
  if (e.precision == "fp16" && !of_data) remedy += ", or precision = \"fp32\"";
  if (e.on_nan != "skip") remedy += ", or on_nan = \"skip\", which skips such steps";
  return training_error(what + "; the weights were not changed", "", remedy);
}

// Returns the error of a run whose updates made a number of its state infinite or NaN. `name`: of that tensor.
Error state_not_finite(std::int64_t step, const std::string& name) {
  return training_error(
      "after step " + std::to_string(step) + ", " + name + record::kLossNotFinite + ": the updates were too large", "",
      "give a smaller lr, or data on a small scale");
}

// Returns what to say of a run whose skipped steps left the weights unchanged, because a loss or a gradient was not
// finite.
Error steps_skipped(const config::Experiment& e, std::int64_t steps, std::int64_t skipped) {
  const std::string count = skipped == steps ? "all " + std::to_string(steps) + " steps"
                                             : std::to_string(skipped) + " of " + std::to_string(steps) + " steps";
  const bool fp16 = e.precision == "fp16";
  return training_error(
      count + " changed no weight, because a loss or a gradient was not finite" +
          (fp16 ? "; the loss scale of fp16 halves at each such step" : ""),
      "", fp16 ? "--set precision=fp32" : "--set on_nan=stop ends a run at such a step and names the cause");
}

}  // namespace

Trainer::Trainer(TrainerParts parts, checkpoint::State state)
    : p_(std::move(parts)),
      state_(std::move(state)),
      exchange_(make_step_exchange(p_.shared, p_.rank, p_.control, !p_.device.is_cpu(),
                                   p_.experiment.logical_ranks.has_value(),
                                   p_.experiment.precision == "fp16" ? kUnwatched : p_.model.parameters())),
      measures_(p_.experiment, p_.preprocessing),
      scalars_(p_.loss.scalar_names(*p_.model.module().ptr())),
      stepper_(p_, *exchange_, p_.experiment.precision == "fp16" ? &scaler_ : nullptr,
               [this](std::int64_t samples) {
                 if (!std::exchange(announced_, true)) announce_epoch(samples);
               }),
      validation_rules_(p_.experiment, p_.optimizer.lr(), p_.length) {
  validation_rules_.add_to(rules_);
  if (p_.experiment.precision == "fp16") rules_.add("scaler", scaler_);
  if (p_.ema != nullptr) rules_.add(checkpoint::kEma, *p_.ema);
  rules_.restore(state_.rules);
  restore_end();
  state_.judged_by = p_.experiment.best_metric();
  // The metric of the checkpoint that the run resumes from does not apply to the next checkpoint.
  state_.metric = std::numeric_limits<double>::quiet_NaN();
  if (p_.recorder) saved_at_ = p_.recorder->seconds();
  if (p_.cache != nullptr) p_.cache->hurry_when([&shared = p_.shared] { return shared.stop_requested().load(); });
}

void Trainer::restore_end() {
  const config::Value stop = state_.rules.contains("stop") ? state_.rules.at("stop") : config::Value();
  if (!record::still_ended(p_.experiment, state_.ended_by, stop, state_.seconds)) return;
  stopped_by_ = state_.ended_by == record::kAllSteps ? record::kPatience : state_.ended_by;
  stopping_ = true;
}

void Trainer::run() try { train(); } catch (const GaveUp&) {
  gave_up_ = true;
}

void Trainer::train() {
  if (p_.experiment.checkpoint.rehearse && state_.step == 0) p_.checkpointer.rehearse(state_);
  if (std::exchange(state_.validation_due, false)) make_up_validation();
  while (!finished() && !stopping_) run_epoch();
  if (p_.profile != nullptr) p_.profile->end(state_.step);
  const bool skips = state_.skipped_steps * 2 > state_.step;
  if (skips && state_.skipped_steps == state_.step && !ended_by().empty()) {
    progress().no_restart = true;
    throw steps_skipped(p_.experiment, state_.step, state_.skipped_steps);
  }
  save(SaveReason::regular);
  p_.checkpointer.finish();
  const std::string reason = ended_by();
  const std::string rule = reason == record::kAllSteps ? "" : reason;
  if (!rule.empty() && p_.recorder) {
    p_.console.line("Ended after step " + std::to_string(state_.step) + " by stop." + rule);
  }
  progress().interrupted = reason.empty();
  if (!reason.empty()) measure_at_end();
  if (skips && p_.recorder) {
    const Error skipped = steps_skipped(p_.experiment, state_.step, state_.skipped_steps);
    p_.console.line("warning: " + skipped.summary() + "; " + skipped.remedy());
  }
  if (p_.recorder) p_.shared.run().end(rule, !reason.empty());
  p_.enter(Phase::finished);
}

std::int64_t Trainer::micro_batches_in_epoch() const {
  const std::int64_t in_epoch = p_.batches.per_epoch(state_.offset);
  return p_.length.micro_batches_per_epoch == 0 ? std::numeric_limits<std::int64_t>::max() : in_epoch;
}

void Trainer::make_up_validation() {
  in_epoch_ = micro_batches_in_epoch();
  if (epoch_finished() || finished()) {
    end_epoch();
  } else {
    validate_inside_epoch();
  }
}

void Trainer::run_epoch() {
  in_epoch_ = micro_batches_in_epoch();
  const std::int64_t to_come = (in_epoch_ - state_.position - 1) / p_.experiment.accumulate + 1;
  const bool last = pausing() || to_come >= p_.length.steps - state_.step;
  announced_ = state_.position > 0;
  p_.batches.start_epoch(state_.epoch, state_.position, state_.offset, last);
  while (!epoch_finished() && !finished() && !stopping_) {
    const std::int64_t of_step = std::min(p_.experiment.accumulate, in_epoch_ - state_.position);
    if (!data_came(of_step)) {
      stopping_ = true;
      break;
    }
    run_step(of_step);
    end_by_time();
    if (validation_is_due() && !epoch_finished() && !finished()) validate_inside_epoch();
    if (std::exchange(first_step_, false)) {
      p_.checkpointer.first_step_done();
      if (config::saves_on_the_way(p_.experiment, p_.length)) p_.checkpointer.get_ready();
    }
    stopping_ = exchange_->stop_agreed(/*more=*/!finished() && !at_its_step()) || stopping_ || at_its_step();
    save_by_time_ = exchange_->save_agreed(save_is_due_by_time());
    if (epoch_finished() || finished() || stopping_) continue;
    if (save_is_due_after_step() || save_by_time_) {
      save(save_is_due_after_step() ? SaveReason::regular : SaveReason::time);
    }
  }
  if (epoch_finished() || finished()) end_epoch();
}

void Trainer::run_step(std::int64_t of_step) {
  if (p_.profile != nullptr) p_.profile->begin_step(state_.step);
  const double lr = validation_rules_.lr(state_.step).value_or(p_.scheduler(state_.step));
  const StepOutcome outcome = stepper_.take(state_.step, lr, of_step);
  ++state_.step;
  state_.position += of_step;
  progress().step.store(state_.step, std::memory_order_relaxed);
  if (p_.ema != nullptr) p_.ema->step_done(state_.step);
  if (outcome.not_finite || outcome.skipped) ++state_.skipped_steps;
  const bool ends_run = outcome.not_finite && (p_.experiment.on_nan == "stop" || !broken_parameter().empty());
  if (p_.recorder) record_step(lr, outcome, ends_run);
  if (ends_run) give_up(*outcome.not_finite);
}

bool Trainer::data_came(std::int64_t micro_batches) {
  if (p_.cache == nullptr) return true;
  p_.enter(Phase::loading);
  p_.batches.start_step(state_.step);
  const std::exception_ptr failure = p_.batches.wait(micro_batches);
  progress().fetched_bytes = p_.cache->fetched_bytes();
  progress().retries = p_.cache->retries();
  // From kStops on: the run is asked to stop, by this signal; another machine may not know it.
  constexpr std::int64_t kAll = 0, kNone = 1, kStops = 2;
  const bool stops = failure && p_.shared.stop_requested() && state_.step > 0;
  const std::int64_t mine = stops ? kStops + p_.shared.stop_signal() : failure ? kNone : kAll;
  std::int64_t worst = kAll;
  for (const at::Tensor& came : dist::all_gather(p_.group, at::scalar_tensor(mine, at::kByte))) {
    worst = std::max(worst, came.item<std::int64_t>());
  }
  if (worst == kNone) end_without_data(failure);
  if (worst > kStops) p_.shared.stop_signal() = static_cast<int>(worst - kStops);
  return worst == kAll;
}

void Trainer::end_without_data(const std::exception_ptr& failure, bool is_saved) {
  if (state_.step > 0 && !is_saved) {
    save(SaveReason::regular);
    p_.checkpointer.finish();
  }
  if (p_.recorder) p_.recorder->flush();
  dist::barrier(p_.group);
  if (!failure) throw GaveUp();
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    progress().no_data = state_.step == 0;
    if (state_.step == 0) throw;
    throw training_error(error.summary(), error.where(), error.remedy());
  }
}

void Trainer::announce_epoch(std::int64_t batch_size) {
  const std::int64_t batches = std::min(in_epoch_, p_.length.steps * p_.experiment.accumulate);
  p_.console.detail("[" + p_.label + "] Epoch " + std::to_string(state_.epoch) +
                    " | Batchsize: " + std::to_string(batch_size) + " | Steps: " + std::to_string(batches));
}

void Trainer::record_step(double lr, const StepOutcome& outcome, bool ends_run) {
  const LossSum all = exchange_->collect();
  state_.seen += all.samples;
  if (all.finite()) {
    state_.loss_sum += all.sum;
    state_.loss_weight += all.weight;
    state_.loss_samples += all.samples;
    state_.scalar_sums.resize(all.scalars.size());
    for (std::size_t i = 0; i < all.scalars.size(); ++i) state_.scalar_sums[i] += all.scalars[i];
  }
  record::StepRecord step{.epoch = state_.epoch,
                          .step = state_.step,
                          .loss = all.mean(),
                          .lr = lr,
                          .samples = all.samples,
                          .nothing_counts = all.weight == 0,
                          .ends_run = ends_run,
                          .skipped = outcome.skipped || outcome.not_finite};
  for (std::size_t i = 0; i < all.scalars.size(); ++i) {
    step.scalars.push_back({.name = scalars_[i], .value = all.scalars[i] / all.weight});
  }
  p_.shared.run().skipped_steps = state_.skipped_steps;
  // Reading the norm waits for the device.
  if (outcome.grad_norm.defined() && p_.recorder->writes(state_.step))
    step.grad_norm = outcome.grad_norm.item<double>();
  p_.recorder->step(step);
}

void Trainer::give_up(const NotFinite& found) {
  // The failure of one rank ends the others, so first write the events and finish the save in progress.
  if (p_.recorder) p_.recorder->flush();
  p_.checkpointer.wait();
  dist::barrier(p_.group);
  if (found.rank != p_.rank) throw GaveUp();
  progress().no_restart = true;
  // Weights that an earlier update broke are the cause.
  const std::string broken = broken_parameter();
  if (!broken.empty()) throw state_not_finite(state_.step - 1, broken);
  throw step_not_finite(p_.experiment, state_.step, found, stepper_.bad_data(), p_.model.parameters());
}

void Trainer::require_finite(const std::string& name) {
  if (name.empty()) return;
  if (p_.recorder) p_.recorder->flush();
  p_.checkpointer.wait();
  progress().no_restart = true;
  throw state_not_finite(state_.step, name);
}

std::string Trainer::broken_parameter() const {
  for (const auto& [name, parameter] : p_.model.parameters()) {
    if (parameter.requires_grad() && !model::all_finite(parameter)) return "the parameter \"" + name + "\"";
  }
  return "";
}

void Trainer::end_by_time() {
  const std::optional<double> most = p_.experiment.stop.seconds();
  // A repetition up to a step takes another time.
  if (!most || p_.until_step > 0 || state_.step >= p_.length.steps) return;
  if (exchange_->end_agreed(p_.recorder != nullptr && p_.recorder->seconds() >= *most)) stopped_by_ = record::kMaxTime;
}

void Trainer::end_by_patience() {
  if (!validation_rules_.patience_is_over()) return;
  stopping_ = true;
  if (stopped_by_.empty()) stopped_by_ = record::kPatience;
}

double Trainer::of_rank_0(double value) const {
  return dist::all_gather(p_.group, at::scalar_tensor(value, at::kDouble)).front().item<double>();
}

bool Trainer::finished() const { return state_.step >= p_.length.steps || stopped_by_ == record::kMaxTime; }

std::string Trainer::ended_by() const { return state_.step >= p_.length.steps ? record::kAllSteps : stopped_by_; }

void Trainer::end_epoch() {
  const std::int64_t epoch = state_.epoch;
  const LossSum train{.sum = state_.loss_sum, .weight = state_.loss_weight, .samples = state_.loss_samples};
  const bool validated = validation_is_due();
  record::EpochRecord ended{.epoch = epoch,
                            .step = state_.step,
                            .samples = train.samples,
                            .metrics = {{"train_loss", train.mean()}},
                            .streams_urls = p_.cache != nullptr};
  for (std::size_t i = 0; i < state_.scalar_sums.size(); ++i) {
    ended.metrics.push_back({.name = "train_" + scalars_[i], .value = state_.scalar_sums[i] / train.weight});
  }
  if (validated) {
    for (record::MetricValue& one : validate()) ended.metrics.push_back(std::move(one));
    if (validation_is_regular()) validation_rules_.judge_validation(ended.metrics);
  }
  // Only rank 0 knows the loss of the whole epoch.
  if (epoch_finished() && validation_rules_.follow_train_loss()) validation_rules_.judge_epoch(of_rank_0(train.mean()));
  end_by_patience();
  state_.metric = record::value_of(ended.metrics, state_.judged_by.name);
  if (p_.recorder) p_.recorder->epoch(ended);
  if (epoch_finished()) {
    stopping_ = stopping_ || pausing();
    ++state_.epoch;
    state_.position = 0;
    state_.offset = 0;
    state_.seen = 0;
    state_.loss_sum = 0;
    state_.loss_weight = 0;
    state_.loss_samples = 0;
    state_.scalar_sums.clear();
  }
  if (const auto reason = reason_to_save(epoch, validated)) save(*reason);
  if (p_.recorder) p_.shared.run().epochs_done = state_.epoch;
  state_.metric = std::numeric_limits<double>::quiet_NaN();
}

std::optional<SaveReason> Trainer::reason_to_save(std::int64_t epoch, bool validated) {
  const config::Checkpoint& c = p_.experiment.checkpoint;
  const bool of_epoch = c.save_every > 0 && epoch % c.save_every == 0;
  if (finished() || stopping_ || of_epoch || save_is_due_after_step()) return SaveReason::regular;
  if (validated && c.keep_best > 0 && p_.checkpointer.improves(state_.metric)) return SaveReason::best;
  if (save_by_time_) return SaveReason::time;
  return {};
}

bool Trainer::validation_is_due() const {
  if (!p_.validation) return false;
  return validation_is_regular() || finished() || (epoch_finished() && pausing());
}

bool Trainer::validation_is_regular() const {
  const config::Period every = p_.experiment.validation.period();
  if (every.steps > 0) return state_.step % every.steps == 0;
  return epoch_finished() && (state_.epoch + 1) % every.epochs == 0;
}

void Trainer::validate_inside_epoch() {
  const record::ValidationRecord measured{.epoch = state_.epoch, .step = state_.step, .metrics = validate()};
  validation_rules_.judge_validation(measured.metrics);
  end_by_patience();
  state_.metric = record::value_of(measured.metrics, state_.judged_by.name);
  if (p_.recorder) p_.recorder->validation(measured);
  if (stopping_ || save_is_due_after_step()) {
    save(SaveReason::regular);
  } else if (p_.experiment.checkpoint.keep_best > 0 && p_.checkpointer.improves(state_.metric)) {
    save(SaveReason::best);
  }
  state_.metric = std::numeric_limits<double>::quiet_NaN();
}

record::MetricValues Trainer::validate() {
  require_finite(p_.checkpointer.not_finite());
  p_.enter(Phase::validating);
  // A validation may take long, and `list` and `show` tell from the file how far the run is.
  if (p_.recorder) p_.recorder->try_flush();
  Measured measured;
  {
    const Ema::InPlace averaged(p_.ema);
    measured = measure_set(p_, measures_, *p_.validation);
  }
  if (measured.lacks_data) {
    state_.validation_due = true;
    end_without_data(measured.failure);
  }
  decision_ = decision_of(measured);
  decided_at_ = state_.step;
  return recorded(p_, std::move(measured), config::kValidationPrefix, state_.step);
}

std::optional<Decision> Trainer::decision_of(const Measured& measured) const {
  if (measured.scores.empty()) return {};
  return measures_.decider()->fit(measured.scores);
}

// Adds the calibration before and after the decision.
void Trainer::add_decision(const Measured& measured, const std::optional<Decision>& decision, config::Value& found) {
  if (!decision || measured.scores.empty() || !found.is_object()) return;
  config::Value shown = config::written(*decision);
  const auto add = [&](const char* when, const Decision& by) {
    const Decider::Calibration of = Decider::calibration(measured.scores, by);
    shown[when] = calibration_curve(of.scored);
    shown[when]["log_loss"] = of.log_loss;
  };
  add("before", {});
  add("after", *decision);
  shown.erase("isotonic");
  found[record::kDecision] = std::move(shown);
}

void Trainer::measure_at_end() {
  std::optional<EvaluationCurves> of_validation;
  if (p_.validation) of_validation.emplace(*p_.validation, measures_);
  // A validation without curves is not measured once more.
  if (of_validation && !of_validation->any()) of_validation.reset();
  if (!of_validation && !p_.test) return;
  // Ensures that rank 0 has written the last checkpoint.
  dist::barrier(p_.group);
  const checkpoint::Checkpoint chosen = p_.checkpointer.checkpoint_to_use(p_.validation.has_value());
  p_.model.load(chosen.weights(/*raw=*/false), p_.validation ? "the best checkpoint" : "the newest checkpoint");
  p_.enter(Phase::validating);
  const std::int64_t epoch = chosen.state.epoch_of_step();
  config::Value found = config::Value::object();
  std::optional<Decision> decision;
  if (of_validation) {
    Measured measured = measure_set(p_, measures_, *p_.validation, &*of_validation);
    if (measured.lacks_data) end_without_data(measured.failure, /*is_saved=*/true);
    decision = decision_of(measured);
    add_decision(measured, decision, measured.curves);
    found["validation"] = std::move(measured.curves);
  }
  if (p_.test) {
    EvaluationCurves curves(*p_.test, measures_);
    Measured measured = measure_set(p_, measures_, *p_.test, &curves);
    if (measured.lacks_data) end_without_data(measured.failure, /*is_saved=*/true);
    add_decision(measured, decision, measured.curves);
    found["test"] = std::move(measured.curves);
    const record::TestRecord test{.epoch = epoch,
                                  .step = chosen.state.step,
                                  .metrics = recorded(p_, std::move(measured), config::kTestPrefix, state_.step)};
    if (p_.recorder) p_.recorder->test(test);
  }
  if (p_.recorder) p_.recorder->evaluation(found, epoch, chosen.state.step);
}

void Trainer::save(SaveReason reason) {
  p_.enter(Phase::saving);
  state_.reason = reason;
  state_.rules = rules_.state();
  state_.ended_by = state_.validation_due ? "" : ended_by();
  if (p_.recorder) saved_at_ = state_.seconds = p_.recorder->seconds();
  if (measures_.decider() != nullptr) {
    config::Value fitted = p_.preprocessing;
    // Between validations the weights are others than those it was fitted to.
    if (decision_ && decided_at_ == state_.step) fitted[record::kDecision] = config::written(*decision_);
    p_.checkpointer.keep_document(checkpoint::kPreprocessing, fitted.is_null() ? "" : fitted.dump(2) + "\n");
  }
  const record::AsideTimer time(p_.recorder, record::Aside::saving);
  require_finite(p_.checkpointer.save(state_));
}

bool Trainer::save_is_due_after_step() const {
  const auto& every = p_.experiment.checkpoint.save_every_steps;
  return every && state_.step % *every == 0;
}

bool Trainer::save_is_due_by_time() {
  const double every = p_.experiment.checkpoint.save_every_minutes * 60;
  if (!p_.recorder || every <= 0) return false;
  const double passed = p_.recorder->seconds() - saved_at_;
  if (passed >= kReadyAfter * every) p_.checkpointer.get_ready();
  // If a save takes longer than the interval, training does not wait for it.
  return passed >= every && !p_.checkpointer.busy();
}

}  // namespace ddp::train
