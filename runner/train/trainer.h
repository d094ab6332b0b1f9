#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "config/experiment.h"
#include "config/length.h"
#include "data/batches.h"
#include "dist/parallel/parallel.h"
#include "record/metrics/run_recorder.h"
#include "record/progress_page.h"
#include "schedule/scheduler.h"
#include "train/checkpointer.h"
#include "train/ema.h"
#include "train/loss/loss.h"
#include "train/optim/grouped_optimizer.h"
#include "train/rules/rules.h"
#include "train/rules/validation_rules.h"
#include "train/run_evaluation.h"
#include "train/step_exchange.h"
#include "train/stepper.h"

namespace ddp::train {

// What a trainer works with; all of it outlives the trainer.
struct TrainerParts {
  const config::Experiment& experiment;
  int rank = 0;
  std::string label;  // "CPU0": the seeds' word for a rank's device
  c10::Device device = c10::kCPU;
  dist::Group group;
  dist::Group control;  // where ranks share no page; else null
  dist::Parallel& model;
  GroupedOptimizer& optimizer;
  Loss loss;
  schedule::Scheduler scheduler;
  config::Length length;
  std::int64_t until_epoch = 0;  // it stops when so many are done; 0: at the end
  data::Batches& batches;
  std::optional<data::EvaluationSet> validation;
  std::optional<data::EvaluationSet> test;
  Ema* ema = nullptr;  // null: the weights are not averaged
  Checkpointer& checkpointer;
  record::ProgressPage& page;
  record::Console console;
  record::RunRecorder* recorder = nullptr;  // on rank 0
};

// Trains: epochs of steps of micro-batches, with validation, checkpoints, and an agreed stop.
class Trainer {
 public:
  // `state`: where to begin; a new run's is all zeros.
  Trainer(TrainerParts parts, checkpoint::State state);

  // Returns when all steps are done, or when all ranks stopped after the same step; the state is saved.
  void run();

 private:
  void run_epoch();
  void run_step();
  // The line that the seeds print at each epoch's start; their "steps" are the batches of a rank.
  void announce_epoch(std::int64_t batch_size);
  void record_step(double lr, const StepOutcome& outcome);
  // A rank's loss was not finite, and the run is to stop then: nothing is saved.
  void give_up(int rank);
  // Keeps the run ended where a rule ended it and [stop] still says so: its ranks measure the test set.
  void restore_end();
  // Notes that the run ends after the step that was done last, if the time is up. Collective.
  void end_by_time();
  // The same if its patience is over.
  void end_by_patience();
  // Returns rank 0's value on every rank. Collective.
  double of_rank_0(double value) const;
  void end_epoch();
  bool validation_is_due() const;
  // Is one due by validation.every, and not because the run ends?
  bool validation_is_regular() const;
  // Measures after a step that does not end its epoch, and saves where that is the best so far. Collective.
  void validate_inside_epoch();
  // Returns the metrics of the validation set. Collective.
  record::MetricValues validate();
  // Measures the test set once, at the end, with the best checkpoint's weights. Collective.
  void test();
  // After the end of `epoch`, whose metric `state_` holds: why it is saved, if it is. `validated`: there was a
  // validation. Collective.
  std::optional<record::SaveReason> reason_to_save(std::int64_t epoch, bool validated);
  void save(record::SaveReason reason);
  bool save_is_due_after_step() const;
  // Are there saves before the last one that are not because of the time?
  bool saves_on_the_way() const;
  // Does rank 0's clock ask for a save? Gets ready for it before. For all ranks; false on the others.
  bool save_is_due_by_time();
  // All steps are done, or the time is up.
  bool finished() const;
  // The word of state.json for it; "": the run has not ended.
  std::string ended_by() const;
  // Is it to stop at the end of the epoch that is under way?
  bool pausing() const { return p_.until_epoch > 0 && state_.epoch + 1 >= p_.until_epoch; }
  bool epoch_finished() const { return state_.position >= in_epoch_; }
  void enter(record::Phase phase) {
    progress().phase.store(phase, std::memory_order_relaxed);
    progress().note_activity();
  }
  record::RankProgress& progress() { return p_.page.rank(p_.rank); }

  TrainerParts p_;
  checkpoint::State state_;
  std::unique_ptr<StepExchange> exchange_;
  RunEvaluation evaluation_;
  Scaler scaler_;  // of fp16
  Stepper stepper_;
  ValidationRules validation_rules_;
  Rules rules_;
  std::int64_t in_epoch_ = 0;  // micro-batches of this epoch, or of what was left of it when the ranks became others
  bool announced_ = false;     // the epoch under way, in the log
  bool first_step_ = true;     // of this process
  bool stopping_ = false;
  std::string stopped_by_;  // the rule that has ended the run, as all ranks agree; empty: none has
  bool given_up_ = false;
  bool save_by_time_ = false;  // all ranks agree that the step that was done last is saved because of the time
  double saved_at_ = 0;        // on rank 0: when the last save began, or this process, in the recorder's seconds
};

}  // namespace ddp::train
