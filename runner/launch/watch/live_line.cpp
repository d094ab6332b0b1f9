#include "launch/watch/live_line.h"

#include <sys/ioctl.h>
#include <unistd.h>
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
  std::snprintf(text, sizeof text, "epoch %lld | step %lld/%lld | loss %.5g | %.0f samples/s",
                static_cast<long long>(run.epoch), static_cast<long long>(step), static_cast<long long>(steps),
                run.loss.load(), rate_);
  std::string line = text;
  if (first_seconds_ >= 0 && step > first_step_) {
    const double per_step = (run.seconds - first_seconds_) / static_cast<double>(step - first_step_);
    line += " | " + duration(per_step * static_cast<double>(steps - step)) + " left";
  }
  return line;
}

void LiveLine::update_rate() {
  const auto& run = shared_.run();
  const double elapsed = run.seconds - rate_seconds_;
  if (elapsed < (rate_ == 0 ? 0.1 : 1.0)) return;
  rate_ = static_cast<double>(run.samples - rate_samples_) / elapsed;
  rate_seconds_ = run.seconds;
  rate_samples_ = run.samples;
}

void LiveLine::refresh() {
  if (!terminal_ || shared_.run().step == 0) return;
  if (first_seconds_ < 0) {
    first_seconds_ = shared_.run().seconds;
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
