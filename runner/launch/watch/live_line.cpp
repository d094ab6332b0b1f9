#include "launch/watch/live_line.h"

#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/log.h"
#include "report/text/table.h"

namespace ddp::launch {
namespace {

constexpr std::size_t kCurveColumns = 6;

double seconds_trained(const record::RunProgress& run) { return run.seconds - run.paused; }

}  // namespace

bool wants_live_line() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return log::verbosity() != log::Verbosity::quiet && isatty(STDERR_FILENO) &&
         (no_color == nullptr || *no_color == '\0') && (term == nullptr || std::string(term) != "dumb");
}

void Drawing::draw(std::vector<std::string> lines) {
  // The last line of the screen is below them.
  if (const std::size_t room = report::terminal_of_stderr().height - 1; lines.size() > room) {
    const std::size_t more = lines.size() - room + 1;
    lines.resize(room - 1);
    lines.push_back("and " + std::to_string(more) + " more");
  }
  std::string text = drawn_ > 0 ? "\033[" + std::to_string(drawn_) + "A\r" : "";
  for (const std::string& line : lines) text += line + "\033[K\n";
  log::draw(text + "\033[J");
  drawn_ = lines.size();
}

void Drawing::clear() {
  if (drawn_ > 0) draw({});
}

LiveLine::LiveLine(record::SharedProgress& shared, std::int64_t epochs)
    : shared_(shared), epochs_(epochs), terminal_(wants_live_line()) {}

report::Moment LiveLine::moment() const {
  const auto& run = shared_.run();
  report::Moment m{.epoch = run.epoch,
                   .epochs = epochs_,
                   .step = run.step,
                   .steps = run.steps_in_all,
                   .loss = run.loss,
                   .losses = losses_,
                   .samples_per_second = rate_,
                   .seconds = run.seconds,
                   .batches_measured = run.batches_measured,
                   .batches_to_measure = run.batches_to_measure};
  if (const double trained = seconds_trained(run) - first_seconds_; trained > 0 && m.step > first_step_) {
    m.seconds_per_step = trained / static_cast<double>(m.step - first_step_);
    m.waiting_for_data = std::min(1.0, shared_.rank(0).seconds(record::Phase::loading) / trained);
    m.seconds_left = seconds_left(m.seconds_per_step);
  }
  return m;
}

std::optional<double> LiveLine::seconds_left(double seconds_per_step) const {
  const auto& run = shared_.run();
  const std::int64_t step = run.step, steps = run.steps_in_all;
  if (steps == 0) return {};
  double left = seconds_per_step * static_cast<double>(steps - step);
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

void LiveLine::note_loss() {
  const auto& run = shared_.run();
  const double step = static_cast<double>(run.step), loss = run.loss;
  if (!std::isfinite(loss) || (!losses_.empty() && losses_.back().step == step)) return;
  if (losses_.empty() || losses_seen_ == losses_per_point_) {
    if (losses_.size() == 2 * kCurveColumns) {
      for (std::size_t i = 0; i < kCurveColumns; ++i) {
        losses_[i] = {losses_[2 * i + 1].step, (losses_[2 * i].loss + losses_[2 * i + 1].loss) / 2};
      }
      losses_.resize(kCurveColumns);
      losses_per_point_ *= 2;
    }
    losses_.push_back({step, loss});
    losses_seen_ = 1;
    return;
  }
  ++losses_seen_;
  losses_.back() = {step, losses_.back().loss + (loss - losses_.back().loss) / static_cast<double>(losses_seen_)};
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
  note_loss();
  // One write, and no line is cleared before it is drawn: no flicker.
  log::draw("\r" + report::in_words(moment(), report::terminal_of_stderr().width - 1) + "\033[K");
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
