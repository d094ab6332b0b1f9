#include "record/metrics/metric_values.h"

#include <algorithm>
#include <tuple>

#include "config/metric.h"

namespace ddp::record {
namespace {

int place_of_metric(const std::string& name) { return name == "train_loss" ? 0 : name == "val_loss" ? 1 : 2; }

}  // namespace

double value_of(const MetricValues& metrics, const std::string& name) {
  const auto named = [&](const MetricValue& metric) { return metric.name == name; };
  const auto found = std::find_if(metrics.begin(), metrics.end(), named);
  return found == metrics.end() ? MetricValue().value : found->value;
}

void set_value(MetricValues& metrics, const std::string& name, double value) {
  const auto named = [&](const MetricValue& metric) { return metric.name == name; };
  const auto found = std::find_if(metrics.begin(), metrics.end(), named);
  if (found == metrics.end()) {
    metrics.push_back({.name = name, .value = value});
  } else {
    found->value = value;
  }
}

bool is_metric_name(std::string_view name) {
  return name.starts_with("train_") || name.starts_with(config::kValidationPrefix) ||
         name.starts_with(config::kTestPrefix);
}

bool MetricOrder::operator()(const std::string& a, const std::string& b) const {
  return std::tuple(place_of_metric(a), a) < std::tuple(place_of_metric(b), b);
}

}  // namespace ddp::record
