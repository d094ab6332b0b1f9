#pragma once

#include <optional>

#include "config/experiment.h"
#include "record/metrics/metric_values.h"
#include "schedule/scheduler.h"
#include "train/rules/patience.h"
#include "train/rules/plateau.h"
#include "train/rules/rules.h"

namespace ddp::train {

// The rules that decide something when a run has measured its metrics: a plateau's lr, and whether the run ends. Every
// rank has the same values, and so decides the same.
class ValidationRules {
 public:
  // `lr`: the optimizer's. `run`: how long the whole run is.
  ValidationRules(const config::Experiment& experiment, double lr, const config::Length& run);
  ValidationRules(const ValidationRules&) = delete;
  ValidationRules& operator=(const ValidationRules&) = delete;

  // Adds those that the run has to its rules.
  void add_to(Rules& rules);

  // The run has validated at its regular time, at the end of an epoch or inside one. What it measures in between, at
  // its end, decides nothing: a run that goes on after that has the same bits as one that was longer from the start.
  void judge_validation(const record::MetricValues& metrics) { judge(metrics, /*of_validation=*/true); }
  // A whole epoch has ended with this train_loss.
  void judge_epoch(double train_loss) { judge({{"train_loss", train_loss}}, /*of_validation=*/false); }
  // Does a rule need the train_loss?
  bool follow_train_loss() const;

  // The lr of the step, if a rule gives it.
  std::optional<double> lr(std::int64_t step) const;
  bool patience_is_over() const { return patience_ && patience_->is_over(); }

 private:
  void judge(const record::MetricValues& metrics, bool of_validation);

  std::optional<Plateau> plateau_;
  std::optional<Patience> patience_;
};

}  // namespace ddp::train
