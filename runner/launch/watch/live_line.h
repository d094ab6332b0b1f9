#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record/shared_progress.h"
#include "report/text/moment.h"

namespace ddp::launch {

// Returns whether stderr is a terminal that can redraw lines. Not with NO_COLOR or --quiet.
bool wants_live_line();

// Lines that are drawn over and over at one place of stderr's terminal, in one write each: no flicker.
class Drawing {
 public:
  // Draws as many lines as the terminal has room for. No line may be wider than the terminal.
  void draw(std::vector<std::string> lines);
  void clear();

 private:
  std::size_t drawn_ = 0;  // lines
};

// The line at the bottom of a terminal (report/text/moment.h). Without a terminal, or with NO_COLOR set, it is not
// shown, and lines are plain.
class LiveLine {
 public:
  // `epochs`: of the whole run; 0: unknown.
  LiveLine(record::SharedProgress& shared, std::int64_t epochs);
  ~LiveLine() { clear(); }

  bool shown() const { return terminal_; }
  void refresh();
  // Prints a whole line above the live line.
  void print(const std::string& line);
  void clear();

 private:
  report::Moment moment() const;
  // Seconds that the rest of the run takes; nothing before two steps were seen.
  std::optional<double> seconds_left(double seconds_per_step) const;
  void update_rate();
  void note_loss();

  record::SharedProgress& shared_;
  const std::int64_t epochs_;
  const bool terminal_;
  bool drawn_ = false;
  // The run's position when first seen: the time left follows from the steps since then. Times are of training alone.
  double first_seconds_ = -1;
  std::int64_t first_step_ = 0;
  // The rate over the last second or so; a single step's rate fluctuates too much.
  double rate_ = 0;
  double rate_seconds_ = 0;
  std::int64_t rate_samples_ = 0;
  // Of the steps seen, each the mean of losses_per_point_ of them.
  std::vector<report::CurvePoint> losses_;
  std::int64_t losses_per_point_ = 1;
  std::int64_t losses_seen_ = 0;  // of the last point
};

}  // namespace ddp::launch
