#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/value.h"
#include "record/metrics/metric_values.h"

namespace ddp::tensorboard {

// One step, one epoch's end, or one validation inside an epoch, before it is written.
struct Point {
  enum class Kind { step, epoch, validation };
  Kind kind = Kind::step;
  double wall_time = 0;  // seconds since 1970
  std::int64_t step = 0;
  std::array<double, 3> values = {};  // for a step: loss, lr, samples_per_second; for an epoch: its number
  record::MetricValues metrics = {};  // for an epoch or a validation
};

// Each function appends one or more records to `file`, the text of an event file.

// Appends the beginning of an event file. It makes a reader forget other files of the same run.
void append_beginning(std::string& file, double wall_time);
void append_point(std::string& file, const Point& point);
// `parameters`: as hyper_parameters() returns them.
void append_session_start(std::string& file, double wall_time, const config::Value& parameters);
void append_session_end(std::string& file, double wall_time, bool success);

// Is the record a point that a run which resumes after `step`, in `epoch`, has already done?
bool belongs(std::string_view record, std::int64_t step, std::int64_t epoch);

}  // namespace ddp::tensorboard
