#pragma once

#include <optional>
#include <string_view>

#include "report/read/curves.h"

namespace ddp::report {

// A step's line of metrics.jsonl. NaN: not finite.
struct StepLine {
  Place place;
  double loss = 0;
  double lr = 0;
  double samples_per_second = 0;
};

// The line as record::RunRecorder writes it; nothing where it is another, or written in another way. There may be
// millions, and this takes a twentieth of the time of reading it as any JSON.
std::optional<StepLine> read_step_line(std::string_view line);

}  // namespace ddp::report
