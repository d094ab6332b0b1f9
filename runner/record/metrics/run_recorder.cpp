#include "record/metrics/run_recorder.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <utility>

#include "record/file/atomic_file.h"
#include "record/metrics/event_lines.h"
#include "record/summary.h"

namespace ddp::record {
namespace {

// A NaN loss has diverged. Another metric that is NaN has no value, such as the AUROC of one class.
std::string labelled(const std::string& label, double value) {
  if (std::isnan(value)) return " | " + label + (label.ends_with("_loss") ? " nan" : " -");  // printf may write -nan
  char number[32];
  std::snprintf(number, sizeof number, " %.6g", value);
  return " | " + label + number;
}

// A wait for data that is worth a warning: this part of the training, and as many seconds in an epoch.
constexpr double kLargePart = 1.0 / 3;
constexpr double kLongWait = 2;

double rate(std::int64_t samples, double seconds) { return seconds > 0 ? static_cast<double>(samples) / seconds : 0; }

}  // namespace

RunRecorder::RunRecorder(const std::filesystem::path& metrics, SharedProgress& shared, Console console,
                         std::int64_t every, double seconds, MetricsFollower* follower)
    : run_(metrics.parent_path()),
      log_(metrics, console),
      follower_(follower),
      shared_(shared),
      console_(console),
      every_(every),
      seconds_before_(seconds),
      last_line_(seconds),
      epoch_started_(seconds) {
  shared_.run().seconds_before = seconds;
}

double RunRecorder::seconds() const {
  return seconds_before_ + std::chrono::duration<double>(Clock::now() - started_).count();
}

void RunRecorder::spent(Aside what, double seconds) {
  epoch_aside_[static_cast<int>(what)] += seconds;
  auto& run = shared_.run();
  paused_since_ += seconds;
  run.paused = run.paused + seconds;
  if (what == Aside::validating) run.validation_seconds = seconds;
  run.seconds = this->seconds();
}

void RunRecorder::step(const StepRecord& r) {
  const double now = seconds();
  samples_since_ += r.samples;
  epoch_samples_ += r.samples;
  auto& run = shared_.run();
  run.epoch.store(r.epoch, std::memory_order_relaxed);
  run.step.store(r.step, std::memory_order_relaxed);
  run.loss.store(r.loss, std::memory_order_relaxed);
  run.samples.store(run.samples.load(std::memory_order_relaxed) + r.samples, std::memory_order_relaxed);
  run.seconds.store(now, std::memory_order_relaxed);
  if (!std::isfinite(r.loss) && !r.nothing_counts && !r.ends_run && !std::exchange(warned_, true)) {
    console_.line("warning: the loss of step " + std::to_string(r.step) +
                  " is not finite; further skipped steps are only listed in metrics.jsonl");
  }
  if (!writes(r.step)) return;
  const double per_second = rate(samples_since_, now - last_line_ - paused_since_);
  log_.append(to_line(r, per_second, now));
  if (follower_ != nullptr) follower_->step(r, per_second, now);
  last_line_ = now;
  samples_since_ = 0;
  paused_since_ = 0;
}

void RunRecorder::epoch(const EpochRecord& r) {
  const double now = seconds();
  const auto& [validating, saving] = epoch_aside_;
  const EpochPace in_all = in_phases();
  EpochPace pace{.training = now - epoch_started_ - validating - saving,
                 .waiting_for_data = in_all.waiting_for_data - at_epoch_.waiting_for_data,
                 .forward = in_all.forward - at_epoch_.forward,
                 .backward = in_all.backward - at_epoch_.backward,
                 .waiting_for_ranks = in_all.waiting_for_ranks - at_epoch_.waiting_for_ranks,
                 .optimizer = in_all.optimizer - at_epoch_.optimizer,
                 .validating = validating,
                 .saving = saving};
  if (r.streams_urls) {
    pace.fetched_bytes = *in_all.fetched_bytes - at_epoch_.fetched_bytes.value_or(0);
    pace.retries = *in_all.retries - at_epoch_.retries.value_or(0);
  }
  const double per_second = rate(epoch_samples_, pace.training);
  const std::string text = "Epoch " + std::to_string(r.epoch) + " done" + note(r.metrics, r.step);
  log_.append(to_line(r, per_second, pace, now));
  if (follower_ != nullptr) follower_->epoch(r, now);
  char tail[48];
  std::snprintf(tail, sizeof tail, " | %.0f samples/s", per_second);
  console_.line(text + tail);
  judge_data(r, pace);
  at_epoch_ = in_all;
  epoch_started_ = now;
  epoch_samples_ = 0;
  std::fill(std::begin(epoch_aside_), std::end(epoch_aside_), 0);
}

EpochPace RunRecorder::in_phases() const {
  const RankProgress& rank = shared_.rank(0);
  std::int64_t fetched = 0, retries = 0;
  for (int i = 0; i < shared_.ranks(); ++i) {
    fetched += shared_.rank(i).fetched_bytes;
    retries += shared_.rank(i).retries;
  }
  return {.waiting_for_data = rank.seconds(Phase::loading),
          .forward = rank.seconds(Phase::forward),
          .backward = rank.seconds(Phase::backward),
          .waiting_for_ranks = rank.seconds_waiting_for_ranks,
          .optimizer = rank.seconds(Phase::optimizer),
          .fetched_bytes = fetched,
          .retries = retries};
}

void RunRecorder::judge_data(const EpochRecord& r, const EpochPace& pace) {
  if (pace.waiting_for_data < std::max(kLongWait, pace.training * kLargePart)) return;
  if (std::exchange(warned_of_data_, true)) return;
  warn("training waited for data for " + std::to_string(std::lround(pace.waiting_for_data / pace.training * 100)) +
       " % of epoch " + std::to_string(r.epoch) + "'s time: more loader.workers read ahead");
}

void RunRecorder::validation(const ValidationRecord& r) {
  const double now = seconds();
  log_.append(to_line(r, now));
  if (follower_ != nullptr) follower_->validation(r, now);
  console_.line("Step " + std::to_string(r.step) + note(r.metrics, r.step));
}

void RunRecorder::matrices(const config::Value& by_name, std::int64_t step) {
  write("the matrices of step " + std::to_string(step) + " were", [&] { keep_matrices(run_, by_name, step); });
}

// A fault that passes, such as one EIO, leaves no gap in the results: the second attempt decides.
void RunRecorder::write(const std::string& what, const std::function<void()>& attempt) {
  for (const bool last : {false, true}) {
    try {
      return attempt();
    } catch (const std::exception& error) {
      if (last) console_.line("warning: " + what + " not written: " + error.what());
    }
  }
}

void RunRecorder::test(const TestRecord& r) {
  log_.append(to_line(r, seconds()));
  shared_.run().test_epoch = r.epoch;
  shared_.run().test_step = r.step;
  console_.line("Test of step " + std::to_string(r.step) + note(r.metrics, r.step));
}

void RunRecorder::evaluation(const config::Value& sets, std::int64_t epoch, std::int64_t step) {
  config::Value whole = {{"version", 1}, {"epoch", epoch}, {"step", step}};
  whole.update(sets);
  const std::string text = whole.dump(-1, ' ', false, config::Value::error_handler_t::replace) + "\n";
  write("evaluation.json was", [&] { write_atomically(run_.evaluation(), text); });
}

std::string RunRecorder::note(const MetricValues& metrics, std::int64_t step) {
  std::string text;
  for (const auto& [name, value] : metrics) {
    shared_.run().metrics.set(name, value);
    text += labelled(name, value);
    if (std::isfinite(value)) continue;
    if (const auto rule = followed_.extract(name)) {
      console_.line("warning: " + name + " has no value after step " + std::to_string(step) +
                    ": this is no improvement for " + rule.mapped());
    }
  }
  return text;
}

void RunRecorder::flush() {
  if (follower_ != nullptr) follower_->flush();
  log_.flush();
}

void RunRecorder::checkpoint(const SaveRecord& r) {
  const bool regular = r.reason == SaveReason::regular;
  log_.append(to_line(r, seconds()));
  console_.detail("Epoch " + std::to_string(r.epoch) + " | Training checkpoint saved at " + r.folder.string() +
                  (regular ? "" : std::string(" (") + config::name_of(r.reason) + ")"));
}

void RunRecorder::not_saved(std::int64_t step, const std::string& why) {
  console_.line("warning: step " + std::to_string(step) + " was not saved: " + why);
}

void RunRecorder::resumed(const ResumeRecord& r) {
  const std::string from = name_in_run(r.checkpoint);
  log_.append(to_line(r, seconds()));
  console_.line("resuming after step " + std::to_string(r.step) + (from.empty() ? "" : ", from " + from));
}

}  // namespace ddp::record
