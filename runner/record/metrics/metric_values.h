#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace ddp::record {

// A metric's name in events, such as train_loss or val_accuracy, and its value.
struct MetricValue {
  std::string name;
  double value = std::numeric_limits<double>::quiet_NaN();
};
using MetricValues = std::vector<MetricValue>;

// Returns the value with this name, or NaN.
double value_of(const MetricValues& metrics, const std::string& name);
void set_value(MetricValues& metrics, const std::string& name, double value);

// Does the name begin with train_, val_ or test_?
bool is_metric_name(std::string_view name);

// The order in which metrics are shown: train_loss, val_loss, then the others by name.
struct MetricOrder {
  bool operator()(const std::string& a, const std::string& b) const;
};

}  // namespace ddp::record
