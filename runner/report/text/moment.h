#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "report/read/history.h"

namespace ddp::report {

// A run at one moment, for one line of a terminal.
struct Moment {
  std::int64_t epoch = 0;
  std::int64_t epochs = 0;  // in all; 0: unknown
  std::int64_t step = 0;
  std::int64_t steps = 0;  // in all; 0: unknown
  double loss = std::numeric_limits<double>::quiet_NaN();
  std::vector<CurvePoint> losses = {};  // for a small curve
  double samples_per_second = 0;        // 0: unknown
  double seconds_per_step = 0;          // 0: unknown
  double waiting_for_data = 0;          // part of the training's time
  double seconds = 0;                   // so far
  std::optional<double> seconds_left = {};
  std::int64_t batches_measured = 0;
  std::int64_t batches_to_measure = 0;  // of the validation or test that runs; 0: none
};

// Returns the moment in one line of at most `width` columns; the less important parts are left out first:
// "epoch 3/10 | step 120/640 | loss 0.0866 ▇▅▃▁ | 61613 samples/s | 12.5 s left".
std::string in_words(const Moment& moment, std::size_t width);

}  // namespace ddp::report
