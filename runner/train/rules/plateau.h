#pragma once

#include <cstdint>

#include "config/metric.h"
#include "schedule/plateau.h"
#include "train/rules/rule.h"

namespace ddp::train {

// The parts of a plateau's schedule.
struct PlateauParts {
  schedule::PlateauOptions options;
  config::Metric metric;  // which it follows
  double lr = 0;          // the optimizer's
  std::int64_t warmup_steps = 0;
};

// Lowers lr where a metric stops to improve: torch.optim.lr_scheduler.ReduceLROnPlateau, stepped at validations, whose
// lr a warm-up multiplies by (t + 1) / w.
class Plateau : public Rule {
 public:
  explicit Plateau(PlateauParts parts);

  // Takes the metric's value at a validation. NaN is no improvement.
  void judge(double value);
  // The lr of step t, counted from 0.
  double lr(std::int64_t step) const;
  const config::Metric& metric() const { return p_.metric; }

  config::Value state() const override;
  // The optimizer's lr may have changed since: what was lowered stays lowered by the same factor. Where the metric is
  // another one, its best value is yet to be found.
  void restore(const config::Value& state) override;

 private:
  bool improves(double value) const;

  PlateauParts p_;
  double lr_;
  double best_;
  std::int64_t waited_ = 0;  // validations without an improvement
  std::int64_t cooling_ = 0;
};

}  // namespace ddp::train
