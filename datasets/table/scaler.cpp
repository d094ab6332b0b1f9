#include "datasets/table/scaler.h"

#include <cmath>
#include <limits>

namespace ddp::datasets {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// scikit-learn's _is_constant_feature: true if the variance may be nothing but rounding errors.
bool is_constant(double variance, double mean, double count) {
  const double rounding = count * mean * kEpsilon;
  return variance <= count * kEpsilon * variance + rounding * rounding;
}

constexpr const char* kNames[] = {"none", "standard", "minmax"};

}  // namespace

Scale::Kind scale_named(const std::string& name) {
  return name == "standard" ? Scale::Kind::standard : name == "minmax" ? Scale::Kind::minmax : Scale::Kind::none;
}

config::Value to_json(const Scale& scale) {
  return {{"kind", kNames[static_cast<int>(scale.kind)]}, {"shift", scale.shift}, {"factor", scale.factor}};
}

Scale scale_from_json(const config::Value& json) {
  return {.kind = scale_named(json.at("kind").get<std::string>()),
          .shift = json.at("shift").get<double>(),
          .factor = json.at("factor").get<double>()};
}

Scale ColumnFit::scale(Scale::Kind kind) const {
  if (kind == Scale::Kind::none || count_ == 0) return {};
  const auto count = static_cast<double>(count_);
  if (kind == Scale::Kind::standard) {
    const double variance = (squares_ - deviations_ * deviations_ / count) / count;
    return {.kind = kind, .shift = mean_, .factor = is_constant(variance, mean_, count) ? 1.0 : std::sqrt(variance)};
  }
  const double range = most_ - least_;
  const double factor = 1.0 / (range < 10 * kEpsilon ? 1.0 : range);
  return {.kind = kind, .shift = 0.0 - least_ * factor, .factor = factor};
}

}  // namespace ddp::datasets
