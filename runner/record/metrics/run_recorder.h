#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "config/metric.h"
#include "record/metrics/event_lines.h"
#include "record/metrics/metrics_log.h"
#include "record/run_directory.h"
#include "record/shared_progress.h"

namespace ddp::record {

// Writes the events of metrics.jsonl in another format too. The training path makes the first three calls: they must
// not write to disk.
class MetricsFollower {
 public:
  virtual ~MetricsFollower() = default;
  // `seconds`: training time of the run so far.
  virtual void step(const StepRecord& record, double samples_per_second, double seconds) = 0;
  virtual void epoch(const EpochRecord& record, double seconds) = 0;
  virtual void validation(const ValidationRecord& record, double seconds) = 0;
  // Returns once all events are in the file or cannot be written. Any thread may call it.
  virtual void flush() = 0;
};

// An activity of rank 0 besides its steps.
enum class Aside : std::int32_t { validating, saving };

// Rank 0's recorder: writes metrics.jsonl, the run's part of the shared progress, and lines for the terminal.
class RunRecorder {
 public:
  // `seconds`: training time before this process, for a resumed run. A line is written every `every` steps. `follower`
  // may be null.
  RunRecorder(const std::filesystem::path& metrics, SharedProgress& shared, Console console, std::int64_t every,
              double seconds, MetricsFollower* follower);

  // `metrics`: the names of metrics, each with the keys of the experiment that follow it. The recorder warns the first
  // time that one of these metrics has no value.
  void follow(std::map<std::string, std::string> metrics) { followed_ = std::move(metrics); }

  // Notes that rank 0 spent this time so. Speeds and times left are of the training without validations and saves.
  void spent(Aside what, double seconds);
  void step(const StepRecord& record);
  // Does step() write a line for this step?
  bool writes(std::int64_t step) const { return step % every_ == 0; }
  void epoch(const EpochRecord& record);
  void validation(const ValidationRecord& record);
  // Keeps matrices by name for the summary; `step`: the step of the measured weights.
  void matrices(const config::Value& by_name, std::int64_t step);
  void test(const TestRecord& record);
  // Writes evaluation.json. `sets`: what was measured of each set with the weights of this step.
  void evaluation(const config::Value& sets, std::int64_t epoch, std::int64_t step);
  void warn(const std::string& text) const { console_.line("warning: " + text); }
  // Notes progress of a save: the parent must not take rank 0 for hung while it does nothing else.
  void saving() { shared_.rank(0).note_activity(); }
  // Notes the end of a save. Another thread may call these three functions and flush().
  void checkpoint(const SaveRecord& record);
  void not_saved(std::int64_t step, const std::string& why);
  void resumed(const ResumeRecord& record);
  void world(const WorldRecord& record) { log_.append(to_line(record, seconds())); }
  // Returns once all lines so far are in the file. Throws ddp::Error (training) if a line cannot be written.
  void flush();
  // Writes the lines so far, if that is possible now.
  void try_flush() { log_.try_flush(); }
  // Training time of the run so far.
  double seconds() const;

 private:
  // Rank 0's seconds of this process in the phases of a step.
  EpochPace in_phases() const;
  // Warns, once, if training waits for data for a large part of its time.
  void judge_data(const EpochRecord& record, const EpochPace& pace);
  // Puts the metrics in the shared progress; returns them as text. Warns about a followed metric without a value.
  std::string note(const MetricValues& metrics, std::int64_t step);

  // Writes a file beside the metrics. Warns if that fails twice; `what`: "evaluation.json was".
  void write(const std::string& what, const std::function<void()>& attempt);

  using Clock = std::chrono::steady_clock;

  const RunDirectory run_;
  MetricsLog log_;
  MetricsFollower* const follower_;
  SharedProgress& shared_;
  const Console console_;
  const std::int64_t every_;
  const double seconds_before_;
  const Clock::time_point started_ = Clock::now();
  double last_line_;                // seconds() at the last line
  std::int64_t samples_since_ = 0;  // samples of all ranks since the last line
  double paused_since_ = 0;         // seconds of validations and saves since the last line
  double epoch_started_;
  std::int64_t epoch_samples_ = 0;
  double epoch_aside_[2] = {};  // seconds of each Aside in this epoch
  EpochPace at_epoch_;          // rank 0's seconds in the phases of a step, when this epoch began
  bool warned_of_data_ = false;
  bool warned_ = false;                          // about a loss that is not finite
  std::map<std::string, std::string> followed_;  // each until its warning
};

// Tells rank 0's recorder the time of a scope. A null recorder: of another rank.
class AsideTimer {
 public:
  AsideTimer(RunRecorder* recorder, Aside what)
      : recorder_(recorder), what_(what), began_(recorder == nullptr ? 0 : recorder->seconds()) {}
  AsideTimer(const AsideTimer&) = delete;
  AsideTimer& operator=(const AsideTimer&) = delete;
  ~AsideTimer() {
    if (recorder_ != nullptr) recorder_->spent(what_, recorder_->seconds() - began_);
  }

 private:
  RunRecorder* const recorder_;
  const Aside what_;
  const double began_;
};

}  // namespace ddp::record
