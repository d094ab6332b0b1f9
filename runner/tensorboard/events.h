#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/value.h"
#include "record/metrics/metric_values.h"

namespace ddp::tensorboard {

// One step, one epoch's end or one validation inside an epoch, as it waits to be written.
struct Point {
  enum class Kind { step, epoch, validation };
  Kind kind = Kind::step;
  double wall_time = 0;  // seconds since 1970
  std::int64_t step = 0;
  std::array<double, 3> values = {};  // of a step: loss, lr, samples_per_second; of an epoch: its number
  record::MetricValues metrics = {};  // of an epoch or a validation
};

// Each appends one record to what is to be written of an event file.

// An event file begins so. A reader that has read another file of the same run forgets it.
void append_beginning(std::string& file, double wall_time);
void append_point(std::string& file, const Point& point);
// `parameters`: as hyper_parameters() returns them.
void append_session_start(std::string& file, double wall_time, const config::Value& parameters);
void append_session_end(std::string& file, double wall_time, bool success);

// Is the record a point of what a run has done that goes on after `step`, in `epoch`?
bool belongs(std::string_view record, std::int64_t step, std::int64_t epoch);

}  // namespace ddp::tensorboard
