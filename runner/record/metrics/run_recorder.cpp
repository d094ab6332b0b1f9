#include "record/metrics/run_recorder.h"

#include <cmath>
#include <cstdio>
#include <utility>

#include "record/metrics/json_line.h"

namespace ddp::record {
namespace {

std::string labelled(const char* label, double value) {
  if (std::isnan(value)) return std::string(" | ") + label + " nan";  // printf writes -nan too
  char text[64];
  std::snprintf(text, sizeof text, " | %s %.6g", label, value);
  return text;
}

double rate(std::int64_t samples, double seconds) { return seconds > 0 ? static_cast<double>(samples) / seconds : 0; }

}  // namespace

RunRecorder::RunRecorder(const std::filesystem::path& metrics, ProgressPage& page, Console console, std::int64_t every,
                         double seconds, MetricsFollower* follower)
    : log_(metrics, console),
      follower_(follower),
      page_(page),
      console_(console),
      every_(every),
      seconds_before_(seconds),
      last_line_(seconds),
      epoch_started_(seconds) {}

double RunRecorder::seconds() const {
  return seconds_before_ + std::chrono::duration<double>(Clock::now() - started_).count();
}

void RunRecorder::step(const StepRecord& r) {
  const double now = seconds();
  samples_since_ += r.samples;
  epoch_samples_ += r.samples;
  auto& run = page_.run();
  run.epoch.store(r.epoch, std::memory_order_relaxed);
  run.step.store(r.step, std::memory_order_relaxed);
  run.loss.store(r.loss, std::memory_order_relaxed);
  run.samples.store(run.samples.load(std::memory_order_relaxed) + r.samples, std::memory_order_relaxed);
  run.seconds.store(now, std::memory_order_relaxed);
  if (!std::isfinite(r.loss) && !std::exchange(warned_, true)) {
    console_.line("warning: the loss of step " + std::to_string(r.step) +
                  " is not finite; later ones are told in metrics.jsonl");
  }
  if (r.step % every_ != 0) return;
  const double per_second = rate(samples_since_, now - last_line_);
  log_.append(JsonLine("step")
                  .add("epoch", r.epoch)
                  .add("step", r.step)
                  .add("loss", r.loss)
                  .add("lr", r.lr)
                  .add("samples", r.samples)
                  .add("samples_per_second", per_second)
                  .add("seconds", now)
                  .finish());
  if (follower_ != nullptr) follower_->step(r, per_second, now);
  last_line_ = now;
  samples_since_ = 0;
}

double EpochRecord::metric(const std::string& name) const {
  return name == "train_loss" ? train_loss : name == "val_loss" ? val_loss : val_accuracy;
}

void RunRecorder::epoch(const EpochRecord& r, const std::string& metric) {
  const double now = seconds();
  const double per_second = rate(epoch_samples_, now - epoch_started_);
  JsonLine line("epoch");
  line.add("epoch", r.epoch).add("step", r.step).add("train_loss", r.train_loss);
  std::string text = "Epoch " + std::to_string(r.epoch) + " done" + labelled("train_loss", r.train_loss);
  auto& run = page_.run();
  run.train_loss = r.train_loss;
  if (!std::isnan(r.val_loss)) {
    run.val_loss = r.val_loss;
    line.add("val_loss", r.val_loss);
    text += labelled("val_loss", r.val_loss);
  }
  if (!std::isnan(r.val_accuracy)) {
    run.val_accuracy = r.val_accuracy;
    line.add("val_accuracy", r.val_accuracy);
    text += labelled("val_accuracy", r.val_accuracy);
  }
  line.add("samples", r.samples).add("samples_per_second", per_second).add("seconds", now);
  log_.append(line.finish());
  if (follower_ != nullptr) follower_->epoch(r, now);
  keep_best(metric, r.metric(metric), r.step);
  char tail[48];
  std::snprintf(tail, sizeof tail, " | %.0f samples/s", per_second);
  console_.line(text + tail);
  epoch_started_ = now;
  epoch_samples_ = 0;
}

void RunRecorder::flush() {
  if (follower_ != nullptr) follower_->flush();
  log_.flush();
}

void RunRecorder::keep_best(const std::string& metric, double value, std::int64_t step) {
  auto& run = page_.run();
  if (!is_better(metric, value, run.best)) return;
  run.best = value;
  run.best_step = step;
}

void RunRecorder::checkpoint(const SaveRecord& r) {
  const bool regular = r.reason == SaveReason::regular;
  JsonLine line("checkpoint");
  line.add("epoch", r.epoch)
      .add("step", r.step)
      .add("path", std::string_view("checkpoints/" + r.folder.filename().string()));
  if (!regular) line.add("reason", std::string_view(to_string(r.reason)));
  log_.append(line.add("stall", r.stall).add("seconds", seconds()).finish());
  console_.detail("Epoch " + std::to_string(r.epoch) + " | Training checkpoint saved at " + r.folder.string() +
                  (regular ? "" : std::string(" (") + to_string(r.reason) + ")"));
}

void RunRecorder::not_saved(std::int64_t step, const std::string& why) {
  console_.line("warning: step " + std::to_string(step) + " was not saved: " + why + "; training goes on");
}

void RunRecorder::resumed(const ResumeRecord& r) {
  const std::string from = r.checkpoint.empty() ? "" : "checkpoints/" + r.checkpoint.filename().string();
  log_.append(JsonLine("resume")
                  .add("epoch", r.epoch)
                  .add("step", r.step)
                  .add("checkpoint", std::string_view(from))
                  .add("world_size", std::int64_t{r.world_size})
                  .add_json("changes", r.changes.empty() ? "{}" : r.changes)
                  .add("seconds", seconds())
                  .finish());
  console_.line("going on after step " + std::to_string(r.step) + (from.empty() ? "" : ", from " + from));
}

}  // namespace ddp::record
