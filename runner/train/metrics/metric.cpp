#include "train/metrics/metric.h"

namespace ddp::train {

MetricRegistry& metrics() {
  static MetricRegistry instance("metric");
  return instance;
}

NamedMetrics all_metrics() {
  NamedMetrics all;
  for (const std::string& name : metrics().names()) {
    all.emplace_back(name, metrics().build(name, config::Value::object()));
  }
  return all;
}

}  // namespace ddp::train
