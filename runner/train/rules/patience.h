#pragma once

#include <cstdint>
#include <limits>

#include "config/experiment.h"
#include "config/metric.h"
#include "train/rules/rule.h"

namespace ddp::train {

// Counts the validations without an improvement of a metric by more than stop.min_delta. record::still_ended() reads
// its numbers in state.json.
class Patience : public Rule {
 public:
  Patience(const config::Stop& stop, config::Metric metric);

  // Takes the metric's value at a validation. NaN is no improvement.
  void judge(double value);
  // Have there been so many that the run ends?
  bool is_over() const { return waited_ >= patience_; }
  const config::Metric& metric() const { return metric_; }

  config::Value state() const override;
  // With another metric or min_delta patience begins anew.
  void restore(const config::Value& state) override;

 private:
  const std::int64_t patience_;
  const double min_delta_;
  const config::Metric metric_;
  double best_ = std::numeric_limits<double>::quiet_NaN();
  std::int64_t waited_ = 0;
};

}  // namespace ddp::train
