#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>

#include "config/metric.h"
#include "record/metrics/metric_values.h"

namespace ddp::record {

// The results of the epochs and validations of a run.
struct EpochHistory {
  MetricValues metrics;  // the last value of each metric
  // The best value of the metric `judged_by`; NaN: it was not measured.
  double best = std::numeric_limits<double>::quiet_NaN();
  std::int64_t best_step = 0;
};

// Reads metrics.jsonl; `judged_by` is the metric whose best value is kept. Returns an empty history if the file is
// missing or cannot be read.
EpochHistory epoch_history(const std::filesystem::path& metrics, const config::Metric& judged_by);

}  // namespace ddp::record
