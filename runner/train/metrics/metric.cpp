#include "train/metrics/metric.h"

namespace ddp::train {

MetricRegistry& metrics() {
  static MetricRegistry instance("metric");
  return instance;
}

NamedMetrics all_metrics() {
  NamedMetrics all;
  for (const config::Spec& spec : metrics().specs()) {
    all.emplace_back(spec.name, metrics().build(spec.name, config::Value::object()));
  }
  return all;
}

}  // namespace ddp::train
