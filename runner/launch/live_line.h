#pragma once

#include <chrono>
#include <string>

#include "record/progress_page.h"

namespace ddp::launch {

// The line at the bottom of a terminal: epoch, step, loss, samples/s and time left. On anything but a terminal,
// or with NO_COLOR set, there is none, and lines are plain.
class LiveLine {
 public:
  explicit LiveLine(record::ProgressPage& page);
  ~LiveLine() { clear(); }

  bool shown() const { return terminal_; }
  void refresh();
  // Prints a whole line above it.
  void print(const std::string& line);
  void clear();

 private:
  std::string text() const;

  record::ProgressPage& page_;
  const bool terminal_;
  bool drawn_ = false;
  double first_seconds_ = -1;  // of the first step seen, and that step: for the time left
  std::int64_t first_step_ = 0;
};

}  // namespace ddp::launch
