#include "train/metrics/metric.h"

#include "base/error.h"

namespace ddp::train {

MetricRegistry& metrics() {
  static MetricRegistry instance("metric");
  return instance;
}

void require_as_many_targets(const std::string& metric, std::size_t first, std::size_t second) {
  if (first == second) return;
  throw usage_error("the metric \"" + metric + "\" cannot be measured: the number of targets of a sample varies",
                    "metrics", "use mae or mse for such targets");
}

}  // namespace ddp::train
