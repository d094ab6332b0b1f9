#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>

#include "config/metric.h"
#include "record/metrics/metric_values.h"

namespace ddp::record {

// The results of the epochs and validations of a run.
struct EpochHistory {
  MetricValues metrics;  // the last value of each
  // Of all values of one metric; NaN: none was measured.
  double best = std::numeric_limits<double>::quiet_NaN();
  std::int64_t best_step = 0;
};

// Read from metrics.jsonl; `judged_by` is the metric whose best value is wanted. A file that is not there, or cannot be
// read, has no history.
EpochHistory epoch_history(const std::filesystem::path& metrics, const config::Metric& judged_by);

}  // namespace ddp::record
