#include "train/rules/plateau.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "train/rules/numbers.h"

namespace ddp::train {
namespace {

double worst(config::Direction direction) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  return direction == config::Direction::greater ? -kInfinite : kInfinite;
}

}  // namespace

Plateau::Plateau(PlateauParts parts) : p_(std::move(parts)), lr_(p_.lr), best_(worst(p_.metric.direction)) {}

bool Plateau::improves(double value) const {
  const bool relative = p_.options.threshold_mode == "rel";
  const double threshold = p_.options.threshold;
  if (p_.metric.direction == config::Direction::greater) {
    return value > (relative ? best_ * (1 + threshold) : best_ + threshold);
  }
  return value < (relative ? best_ * (1 - threshold) : best_ - threshold);
}

void Plateau::judge(double value) {
  if (improves(value)) {
    best_ = value;
    waited_ = 0;
  } else {
    ++waited_;
  }
  if (cooling_ > 0) {
    --cooling_;
    waited_ = 0;
  }
  if (waited_ <= p_.options.patience) return;
  const double lowered = std::max(lr_ * p_.options.factor, p_.options.min_lr);
  if (lr_ - lowered > p_.options.eps) lr_ = lowered;
  cooling_ = p_.options.cooldown;
  waited_ = 0;
}

double Plateau::lr(std::int64_t step) const {
  if (step >= p_.warmup_steps) return lr_;
  return lr_ * static_cast<double>(step + 1) / static_cast<double>(p_.warmup_steps);
}

config::Value Plateau::state() const {
  return {{"metric", p_.metric.name},      {"base_lr", p_.lr},  {"lr", lr_},
          {"best", number_or_null(best_)}, {"waited", waited_}, {"cooling", cooling_}};
}

void Plateau::restore(const config::Value& state) {
  const double base = config::number_member(state, "base_lr");
  const double lr = config::number_member(state, "lr");
  if (base < 0 || lr < 0 || lr > base) throw std::runtime_error("\"lr\" is not between 0 and \"base_lr\"");
  lr_ = base == p_.lr ? lr : base == 0 ? p_.lr : lr * (p_.lr / base);
  cooling_ = config::count_member(state, "cooling");
  if (config::text_member(state, "metric") != p_.metric.name) return;
  best_ = number_or(state, "best", worst(p_.metric.direction));
  waited_ = config::count_member(state, "waited");
}

}  // namespace ddp::train
