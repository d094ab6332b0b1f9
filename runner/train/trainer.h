#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "train/evaluate.h"
#include "train/parts.h"
#include "train/rules.h"
#include "train/step_exchange.h"
#include "train/stepper.h"

namespace ddp::train {

// The training loop: epochs of steps of micro-batches, with validation, checkpoints and a stop that all ranks agree on.
class Trainer {
 public:
  // `state`: the starting point; all zeros for a new run.
  Trainer(TrainerParts parts, checkpoint::State state);

  // Returns when all steps are done or all ranks have stopped after the same step. The state is then saved, unless a
  // number that is not finite ended the run.
  void run();
  // Did the loss, the gradient or the data of another rank end the run? That rank's run() throws the error.
  bool gave_up() const { return gave_up_; }
  std::size_t recorded_bytes() const { return stepper_.replay().recorded_bytes(); }

 private:
  // Another rank throws the error that ends the run.
  struct GaveUp {};

  void train();
  void run_epoch();
  void run_step(std::int64_t of_step);  // of so many micro-batches
  std::int64_t micro_batches_in_epoch() const;
  // Waits for the data of the next step of a stream of URLs. Ends the run if they do not come to all ranks; returns
  // false if the run is asked to stop meanwhile. Collective.
  bool data_came(std::int64_t micro_batches);
  // Saves, unless the state is saved; then the ranks that have a `failure` throw it, and the others GaveUp. Collective.
  [[noreturn]] void end_without_data(const std::exception_ptr& failure, bool is_saved = false);
  // Prints the line of the tutorial scripts at the start of an epoch; its "Steps" are the batches of a rank.
  void announce_epoch(std::int64_t batch_size);
  void record_step(double lr, const StepOutcome& outcome, bool ends_run);
  // Ends the run without a save, because a loss or a gradient was not finite.
  void give_up(const NotFinite& found);
  // Throws the error of a state that is not finite. `name`: what is not finite in it; "": nothing.
  void require_finite(const std::string& name);
  // Returns the first trained parameter that is not finite, in words; "": none. The same on every rank.
  std::string broken_parameter() const;
  // Keeps a run ended if a rule ended it and [stop] still has that rule. The ranks then only measure the test set.
  void restore_end();
  // Ends the run after the current step if its time is up. Collective.
  void end_by_time();
  // Ends the run if its patience is over.
  void end_by_patience();
  // Returns rank 0's value on every rank. Collective.
  double of_rank_0(double value) const;
  void end_epoch();
  bool validation_is_due() const;
  // Tells whether validation.every requires a validation now, regardless of the end of the run.
  bool validation_is_regular() const;
  // Measures after a step inside an epoch, and saves if the result is the best so far. Collective.
  void validate_inside_epoch();
  // Measures the validation set. Ends the run if its data do not come; its resume then measures first. Collective.
  record::MetricValues validate();
  // Makes the validation that the run ended before. Collective.
  void make_up_validation();
  // Measures what evaluation.json says, and the test set, once, at the end, with the best checkpoint's weights, or with
  // the last ones without validation. Collective.
  void measure_at_end();
  // Returns the reason to save at the end of `epoch`, if any. `state_` holds the metric of the epoch. `validated`: the
  // epoch ended with a validation. Collective.
  std::optional<record::SaveReason> reason_to_save(std::int64_t epoch, bool validated);
  void save(record::SaveReason reason);
  // Returns what [decide] makes of a validation; nothing: there is no [decide], or outputs are NaN.
  std::optional<Decision> decision_of(const Measured& measured) const;
  static void add_decision(const Measured& measured, const std::optional<Decision>& decision, config::Value& found);
  bool save_is_due_after_step() const;
  // Tells whether a save is due by rank 0's clock. Calls get_ready() shortly before one is due. False on other ranks.
  bool save_is_due_by_time();
  // Tells whether all steps are done or the time is up.
  bool finished() const;
  // Returns the value of "ended_by" in state.json; "": the run has not ended.
  std::string ended_by() const;
  // Tells whether training stops at the end of the current epoch, or after this step.
  bool pausing() const { return p_.until_epoch > 0 && state_.epoch + 1 >= p_.until_epoch; }
  bool at_its_step() const { return state_.step == p_.until_step; }
  bool epoch_finished() const { return state_.position >= in_epoch_; }
  record::RankProgress& progress() const { return p_.progress(); }

  TrainerParts p_;
  checkpoint::State state_;
  std::unique_ptr<StepExchange> exchange_;
  const Measures measures_;
  const std::vector<std::string> scalars_;  // names of the scalars that come with the loss
  Scaler scaler_;                           // for fp16
  Stepper stepper_;
  ValidationRules validation_rules_;
  Rules rules_;
  std::int64_t in_epoch_ = 0;  // micro-batches of this epoch, or of its rest if the world size changed in it
  bool announced_ = false;     // the current epoch has its log line
  bool first_step_ = true;     // of this process
  bool stopping_ = false;
  std::string stopped_by_;  // the rule that ended the run, agreed by all ranks; empty: none
  bool gave_up_ = false;
  bool save_by_time_ = false;         // all ranks agreed to save the last step because of the time
  std::optional<Decision> decision_;  // of the last validation
  std::int64_t decided_at_ = -1;      // its step
  double saved_at_ = 0;  // on rank 0: start of the last save, or of this process, in the recorder's seconds
};

}  // namespace ddp::train
