#include "launch/watch/live_line.h"

#include <sys/ioctl.h>
#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/log.h"

namespace ddp::launch {
namespace {

std::string duration(double seconds) {
  const auto whole = static_cast<long long>(std::ceil(seconds));
  char text[48];
  if (whole >= 3600) {
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
  } else {
    std::snprintf(text, sizeof text, "%lld:%02lld", whole / 60, whole % 60);
  }
  return text;
}

double seconds_trained(const record::RunProgress& run) { return run.seconds - run.paused; }

}  // namespace

bool wants_live_line() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return log::verbosity() != log::Verbosity::quiet && isatty(STDERR_FILENO) &&
         (no_color == nullptr || *no_color == '\0') && (term == nullptr || std::string(term) != "dumb");
}

std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

LiveLine::LiveLine(record::SharedProgress& shared) : shared_(shared), terminal_(wants_live_line()) {}

std::string LiveLine::text() const {
  const auto& run = shared_.run();
  const std::int64_t step = run.step;
  const std::int64_t steps = run.steps_in_all;
  char text[200];
  std::snprintf(text, sizeof text, "epoch %lld | step %lld/%lld | loss %.5g | ", static_cast<long long>(run.epoch),
                static_cast<long long>(step), static_cast<long long>(steps), run.loss.load());
  std::string line = text;
  if (const std::int64_t batches = run.batches_to_measure; batches > 0) {
    line += "validating " + std::to_string(std::min<std::int64_t>(run.batches_measured, batches)) + " of " +
            std::to_string(batches);
  } else {
    std::snprintf(text, sizeof text, "%.0f samples/s", rate_);
    line += text;
  }
  if (const auto left = seconds_left()) line += " | " + duration(*left) + " left";
  return line;
}

std::optional<double> LiveLine::seconds_left() const {
  const auto& run = shared_.run();
  const std::int64_t step = run.step, steps = run.steps_in_all;
  if (first_seconds_ < 0 || step <= first_step_) return {};
  const double per_step = (seconds_trained(run) - first_seconds_) / static_cast<double>(step - first_step_);
  double left = per_step * static_cast<double>(steps - step);
  if (const std::int64_t every = run.steps_per_validation; every > 0) {
    // The last step is always measured. The validation that runs counts as begun, and partly as done.
    double validations = step == steps ? 0 : static_cast<double>((steps + every - 1) / every - step / every);
    if (run.batches_to_measure > 0) {
      validations += 1 - static_cast<double>(run.batches_measured) / static_cast<double>(run.batches_to_measure);
    }
    left += std::max(0.0, validations) * run.validation_seconds;
  }
  return left;
}

void LiveLine::update_rate() {
  const auto& run = shared_.run();
  const double elapsed = seconds_trained(run) - rate_seconds_;
  if (elapsed < (rate_ == 0 ? 0.1 : 1.0)) return;
  rate_ = static_cast<double>(run.samples - rate_samples_) / elapsed;
  rate_seconds_ = seconds_trained(run);
  rate_samples_ = run.samples;
}

void LiveLine::refresh() {
  if (!terminal_ || shared_.run().step == 0) return;
  if (first_seconds_ < 0) {
    first_seconds_ = seconds_trained(shared_.run());
    first_step_ = shared_.run().step;
    rate_seconds_ = first_seconds_;
    rate_samples_ = shared_.run().samples;
  }
  update_rate();
  const std::string line = "\r\033[K" + text().substr(0, terminal_width() - 1);
  log::draw(line);
  drawn_ = true;
}

void LiveLine::print(const std::string& line) {
  if (log::verbosity() == log::Verbosity::quiet) return;
  clear();
  log::print(line + "\n");
  refresh();
}

void LiveLine::clear() {
  if (!std::exchange(drawn_, false)) return;
  log::draw("\r\033[K");
}

}  // namespace ddp::launch
