#include "train/rules/validation_rules.h"

namespace ddp::train {
namespace {

bool is_of_validation(const config::Metric& metric) { return metric.name.starts_with(config::kValidationPrefix); }

}  // namespace

ValidationRules::ValidationRules(const config::Experiment& e, double lr, const config::Length& run) {
  if (schedule::follows_metric(e)) {
    const schedule::PlateauOptions options = schedule::plateau_of(e);
    plateau_.emplace(PlateauParts{.options = options,
                                  .metric = e.metric_named(options.metric),
                                  .lr = lr,
                                  .warmup_steps = options.steps(schedule::horizon_of(lr, run))});
  }
  if (e.stop.patience > 0) patience_.emplace(e.stop, e.metric_named(e.stop.metric));
}

void ValidationRules::add_to(Rules& rules) {
  if (plateau_) rules.add("scheduler", *plateau_);
  if (patience_) rules.add("stop", *patience_);
}

void ValidationRules::judge(const record::MetricValues& metrics, bool of_validation) {
  const auto concerns = [&](const config::Metric& metric) { return is_of_validation(metric) == of_validation; };
  if (plateau_ && concerns(plateau_->metric())) plateau_->judge(record::value_of(metrics, plateau_->metric().name));
  if (patience_ && concerns(patience_->metric())) patience_->judge(record::value_of(metrics, patience_->metric().name));
}

bool ValidationRules::follow_train_loss() const {
  return (plateau_ && !is_of_validation(plateau_->metric())) || (patience_ && !is_of_validation(patience_->metric()));
}

std::optional<double> ValidationRules::lr(std::int64_t step) const {
  return plateau_ ? std::optional(plateau_->lr(step)) : std::nullopt;
}

}  // namespace ddp::train
