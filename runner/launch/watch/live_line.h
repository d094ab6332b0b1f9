#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "record/shared_progress.h"

namespace ddp::launch {

// Returns whether stderr is a terminal that can redraw lines. Not with NO_COLOR or --quiet.
bool wants_live_line();

// The width of stderr's terminal in columns; 80 if unknown.
std::size_t terminal_width();

// The line at the bottom of a terminal: epoch, step, loss, samples/s, the progress of a validation, and the time left
// with the validations to come. Without a terminal, or with
// NO_COLOR set, it is not shown, and lines are plain.
class LiveLine {
 public:
  explicit LiveLine(record::SharedProgress& shared);
  ~LiveLine() { clear(); }

  bool shown() const { return terminal_; }
  void refresh();
  // Prints a whole line above the live line.
  void print(const std::string& line);
  void clear();

 private:
  std::string text() const;
  // Seconds that the rest of the run takes; nothing before two steps were seen.
  std::optional<double> seconds_left() const;
  void update_rate();

  record::SharedProgress& shared_;
  const bool terminal_;
  bool drawn_ = false;
  // The run's position when first seen: the time left follows from the steps since then. Times are of training alone.
  double first_seconds_ = -1;
  std::int64_t first_step_ = 0;
  // The rate over the last second or so; a single step's rate fluctuates too much.
  double rate_ = 0;
  double rate_seconds_ = 0;
  std::int64_t rate_samples_ = 0;
};

}  // namespace ddp::launch
