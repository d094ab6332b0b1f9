#pragma once

#include <cstdint>
#include <limits>

#include "config/experiment.h"
#include "config/metric.h"
#include "train/rules/rule.h"

namespace ddp::train {

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

}  // namespace ddp::train
