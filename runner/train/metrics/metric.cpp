#include "train/metrics/metric.h"

#include "base/error.h"

namespace ddp::train {

MetricRegistry& metrics() {
  static MetricRegistry instance("metric");
  return instance;
}

void require_as_many_targets(const std::string& metric, std::size_t first, std::size_t second) {
  if (first == second) return;
  throw usage_error("the metric \"" + metric + "\" cannot be measured: batches differ in how many targets a sample has",
                    "metrics", "mae and mse take such targets");
}

}  // namespace ddp::train
