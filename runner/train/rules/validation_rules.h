#pragma once

#include <optional>

#include "config/experiment.h"
#include "record/metrics/metric_values.h"
#include "schedule/scheduler.h"
#include "train/rules/patience.h"
#include "train/rules/plateau.h"
#include "train/rules/rules.h"

namespace ddp::train {

// The rules that act on the metrics of a validation: the plateau schedule, and the patience that ends the run. Every
// rank has the same values and makes the same decisions.
class ValidationRules {
 public:
  // `lr`: the learning rate of the optimizer. `run`: the length of the whole run.
  ValidationRules(const config::Experiment& experiment, double lr, const config::Length& run);
  ValidationRules(const ValidationRules&) = delete;
  ValidationRules& operator=(const ValidationRules&) = delete;

  // Adds the configured rules to the run's rules.
  void add_to(Rules& rules);

  // Judges a regular validation, at the end of an epoch or inside one. The extra validation at the end of a run is not
  // judged. A run that is resumed and extended then has the same bits as a run that was longer from the start.
  void judge_validation(const record::MetricValues& metrics) { judge(metrics, /*of_validation=*/true); }
  // Judges the train_loss of a complete epoch.
  void judge_epoch(double train_loss) { judge({{"train_loss", train_loss}}, /*of_validation=*/false); }
  // Tells whether a rule needs the train_loss.
  bool follow_train_loss() const;

  // Returns the learning rate of the step, if a rule determines it.
  std::optional<double> lr(std::int64_t step) const;
  bool patience_is_over() const { return patience_ && patience_->is_over(); }

 private:
  void judge(const record::MetricValues& metrics, bool of_validation);

  std::optional<Plateau> plateau_;
  std::optional<Patience> patience_;
};

}  // namespace ddp::train
