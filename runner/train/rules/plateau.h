#pragma once

#include <cstdint>

#include "config/metric.h"
#include "schedule/plateau.h"
#include "train/rules/rule.h"

namespace ddp::train {

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

}  // namespace ddp::train
