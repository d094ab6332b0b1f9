#include "train/metrics/metric.h"

namespace ddp::train {

MetricRegistry& metrics() {
  static MetricRegistry instance("metric");
  return instance;
}

}  // namespace ddp::train
