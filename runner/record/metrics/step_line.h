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

// The line as to_line() in event_lines.h writes it; nothing where it is another, or written in another way. There may
// be millions, and this takes a twentieth of the time of reading it as any JSON.
std::optional<StepLine> read_step_line(std::string_view line);

}  // namespace ddp::record
