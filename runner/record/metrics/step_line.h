#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ddp::record {

// A step's line of metrics.jsonl. NaN: not finite.
struct StepLine {
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  double loss = 0;
  double lr = 0;
  double samples_per_second = 0;
  double seconds = 0;
  std::optional<double> grad_norm;
};

// Parses a line in the exact form that to_line() of event_lines.h writes; returns nothing for any other line. A file
// may have millions of such lines, and this parser takes a twentieth of the time of a JSON parser.
std::optional<StepLine> read_step_line(std::string_view line);

}  // namespace ddp::record
