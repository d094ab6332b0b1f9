#include "train/rules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/full.h>

#include "base/error.h"
#include "config/option/value.h"
#include "config/text/json_text.h"
#include "train/gradients.h"

namespace ddp::train {
namespace {

// Reads a number written by config::number_or_null(); null becomes `otherwise`. Throws std::runtime_error if the member
// is missing or has another type.
double number_or(const config::Value& object, const std::string& name, double otherwise) {
  if (!object.contains(name)) throw std::runtime_error("\"" + name + "\" is missing");
  const config::Value& number = object.at(name);
  if (number.is_null()) return otherwise;
  if (!number.is_number()) throw std::runtime_error("\"" + name + "\" is not a number");
  return number.get<double>();
}

double worst(config::Direction direction) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  return direction == config::Direction::greater ? -kInfinite : kInfinite;
}

bool is_of_validation(const config::Metric& metric) { return metric.name.starts_with(config::kValidationPrefix); }

// Of the scale of fp16.
constexpr float kGrowth = 2;
constexpr float kBackoff = 0.5;
constexpr std::int64_t kGrowthInterval = 2000;

}  // namespace

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
  return {{"metric", metric_.name},
          {"min_delta", min_delta_},
          {"best", config::number_or_null(best_)},
          {"waited", waited_}};
}

void Patience::restore(const config::Value& state) {
  const bool same_metric = config::text_member(state, "metric") == metric_.name;
  if (!same_metric || config::number_member(state, "min_delta") != min_delta_) return;
  best_ = number_or(state, "best", std::numeric_limits<double>::quiet_NaN());
  waited_ = config::count_member(state, "waited");
}

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
  return {{"metric", p_.metric.name}, {"base_lr", p_.lr},   {"lr", lr_}, {"best", config::number_or_null(best_)},
          {"waited", waited_},        {"cooling", cooling_}};
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

std::map<std::string, std::string> followed_metrics(const config::Experiment& e) {
  std::map<std::string, std::string> followed;
  const auto add = [&](const std::string& metric, const char* key) {
    std::string& keys = followed[metric];
    keys += (keys.empty() ? "" : " and ") + std::string(key);
  };
  add(e.best_metric().name, "checkpoint.metric");
  if (schedule::follows_metric(e)) add(e.metric_named(schedule::plateau_of(e).metric).name, "scheduler.metric");
  if (e.stop.patience > 0) add(e.metric_named(e.stop.metric).name, "stop.metric");
  std::erase_if(followed, [](const auto& one) { return !one.first.starts_with(config::kValidationPrefix); });
  return followed;
}

ValidationRules::ValidationRules(const config::Experiment& e, double lr, const config::Length& run) {
  if (schedule::follows_metric(e)) {
    const schedule::PlateauOptions options = schedule::plateau_of(e);
    plateau_.emplace(PlateauParts{.options = options,
                                  .metric = e.metric_named(options.metric, options.goal),
                                  .lr = lr,
                                  .warmup_steps = options.steps(schedule::horizon_of(lr, run))});
  }
  if (e.stop.patience > 0) patience_.emplace(e.stop, e.metric_named(e.stop.metric, e.stop.goal));
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

void Rules::restore(const std::map<std::string, config::Value>& saved) {
  for (const auto& [name, rule] : rules_) {
    const auto found = saved.find(name);
    if (found == saved.end()) continue;
    try {
      rule->restore(found->second);
    } catch (const std::exception& error) {
      throw training_error(std::string("is damaged: ") + error.what(), "state.json, rule \"" + name + "\"");
    }
  }
}

std::map<std::string, config::Value> Rules::state() const {
  std::map<std::string, config::Value> numbers;
  for (const auto& [name, rule] : rules_) numbers[name] = rule->state();
  return numbers;
}

config::Value Scaler::state() const { return {{"scale", scale_}, {"growth_tracker", finite_steps_}}; }

void Scaler::restore(const config::Value& state) {
  const auto scale = static_cast<float>(config::number_member(state, "scale"));
  const std::int64_t steps = config::count_member(state, "growth_tracker");
  if (!std::isfinite(scale) || scale < 0) throw std::runtime_error("\"scale\" is not a positive number");
  scale_ = scale;
  finite_steps_ = steps;
}

// The scale is a float32 tensor, as in GradScaler: a loss in fp16 becomes float32, because the scale does not fit into
// fp16.
at::Tensor Scaler::scaled(const at::Tensor& loss) const {
  return loss * at::full({}, scale_, at::TensorOptions().dtype(at::kFloat).device(loss.device()));
}

bool Scaler::unscale(const std::vector<at::Tensor>& gradients) {
  const at::NoGradGuard no_grad;
  // Computed as in GradScaler.
  const auto inverse = static_cast<float>(1.0 / static_cast<double>(scale_));
  bool finite = true;
  for (const std::vector<at::Tensor>& group : by_device_and_type(gradients)) {
    const auto options = at::TensorOptions().dtype(at::kFloat).device(group.front().device());
    at::Tensor found = at::full({1}, 0.0, options);
    at::_amp_foreach_non_finite_check_and_unscale_(group, found, at::full({}, inverse, options));
    finite = finite && found.item<float>() == 0;
  }
  adapt(finite);
  return finite;
}

// at::_amp_update_scale_
void Scaler::adapt(bool finite) {
  if (!finite) {
    scale_ *= kBackoff;
    finite_steps_ = 0;
  } else if (++finite_steps_ == kGrowthInterval) {
    if (std::isfinite(scale_ * kGrowth)) scale_ *= kGrowth;
    finite_steps_ = 0;
  }
}

}  // namespace ddp::train
