#include "train/rules/patience.h"

#include <utility>

#include "train/rules/numbers.h"

namespace ddp::train {

Patience::Patience(const config::Stop& stop, config::Metric metric)
    : patience_(stop.patience), min_delta_(stop.min_delta), metric_(std::move(metric)) {}

void Patience::judge(double value) {
  const double delta = metric_.direction == config::Direction::greater ? min_delta_ : -min_delta_;
  if (metric_.is_better(value, best_ + delta)) {
    best_ = value;
    waited_ = 0;
  } else {
    ++waited_;
  }
}

config::Value Patience::state() const {
  return {{"metric", metric_.name}, {"min_delta", min_delta_}, {"best", number_or_null(best_)}, {"waited", waited_}};
}

void Patience::restore(const config::Value& state) {
  const bool same_metric = config::text_member(state, "metric") == metric_.name;
  if (!same_metric || config::number_member(state, "min_delta") != min_delta_) return;
  best_ = number_or(state, "best", std::numeric_limits<double>::quiet_NaN());
  waited_ = config::count_member(state, "waited");
}

}  // namespace ddp::train
