#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/experiment.h"
#include "config/metric.h"
#include "config/option/fields.h"
#include "record/metrics/metric_values.h"
#include "schedule/plateau.h"
#include "schedule/scheduler.h"

namespace ddp::train {

// A rule that a run follows from step to step, such as the loss scale of fp16, the learning rate of a plateau schedule,
// or the patience of a stop. Its state is a few numbers, which state.json keeps under the rule's name.
class Rule {
 public:
  virtual ~Rule() = default;
  // Returns the state as a JSON object, the same on every rank.
  virtual config::Value state() const = 0;
  // Restores the state. The argument is untrusted input. Throws std::runtime_error if it is damaged.
  virtual void restore(const config::Value& state) = 0;
};

// The rules of a run, by their names in state.json: "stop", "scheduler", "scaler", "ema".
class Rules {
 public:
  // `rule` outlives this object.
  void add(const std::string& name, Rule& rule) { rules_[name] = &rule; }
  // Restores each rule. A rule without saved state starts fresh; the state of a rule that the run no longer has is
  // dropped. If a rule's state is damaged, throws ddp::Error (training) that names state.json and the rule.
  void restore(const std::map<std::string, config::Value>& saved);
  // Returns the state of each rule, for state.json.
  std::map<std::string, config::Value> state() const;

 private:
  std::map<std::string, Rule*> rules_;
};

// Counts the validations in a row that did not improve a metric by more than stop.min_delta. record::still_ended()
// reads the state from state.json.
class Patience : public Rule {
 public:
  Patience(const config::Stop& stop, config::Metric metric);

  // Takes the metric's value at a validation. NaN is not an improvement.
  void judge(double value);
  // Tells whether the count has reached stop.patience, which ends the run.
  bool is_over() const { return waited_ >= patience_; }
  const config::Metric& metric() const { return metric_; }

  config::Value state() const override;
  // Ignores the state if the metric or min_delta has changed: counting starts again.
  void restore(const config::Value& state) override;

 private:
  const std::int64_t patience_;
  const double min_delta_;
  const config::Metric metric_;
  double best_ = std::numeric_limits<double>::quiet_NaN();
  std::int64_t waited_ = 0;
};

// The parts of a plateau schedule.
struct PlateauParts {
  schedule::PlateauOptions options;
  config::Metric metric;  // the metric that the schedule follows
  double lr = 0;          // base learning rate of the optimizer
  std::int64_t warmup_steps = 0;
};

// Lowers the learning rate when a metric stops improving: torch.optim.lr_scheduler.ReduceLROnPlateau, stepped at
// validations. In a warm-up of w steps, step t multiplies the learning rate by (t + 1) / w.
class Plateau : public Rule {
 public:
  explicit Plateau(PlateauParts parts);

  // Takes the metric's value at a validation. NaN is not an improvement.
  void judge(double value);
  // The learning rate of a step, counted from 0.
  double lr(std::int64_t step) const;
  const config::Metric& metric() const { return p_.metric; }

  config::Value state() const override;
  // If the optimizer's lr has changed since the save, keeps the factor by which the schedule had lowered it. If the
  // metric has changed, drops the best value.
  void restore(const config::Value& state) override;

 private:
  bool improves(double value) const;

  PlateauParts p_;
  double lr_;
  double best_;
  std::int64_t waited_ = 0;  // validations without an improvement
  std::int64_t cooling_ = 0;
};

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

// The loss scale of fp16: torch.amp.GradScaler with its defaults (torch/amp/grad_scaler.py). Small gradients would
// become 0 in fp16, so the loss is multiplied by the scale before backward, and the gradients are divided by it
// afterwards.
class Scaler : public Rule {
 public:
  config::Value state() const override;
  void restore(const config::Value& state) override;

  // Returns the loss times the scale.
  at::Tensor scaled(const at::Tensor& loss) const;
  // Divides gradients by the scale, in place. Returns whether all gradients are finite. Halves the scale if not;
  // doubles it after 2000 finite steps in a row.
  bool unscale(const std::vector<at::Tensor>& gradients);
  double scale() const { return scale_; }

 private:
  void adapt(bool finite);

  float scale_ = 65536;
  std::int64_t finite_steps_ = 0;  // in a row since the scale changed
};

// Returns the metrics of validation that settings follow, each with the keys of these settings.
std::map<std::string, std::string> followed_metrics(const config::Experiment& experiment);

}  // namespace ddp::train
