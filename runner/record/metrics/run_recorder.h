#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "config/metric.h"
#include "record/console.h"
#include "record/metrics/metrics_log.h"
#include "record/metrics/records.h"
#include "record/progress_page.h"
#include "record/run_directory.h"

namespace ddp::record {

// Keeps the events of metrics.jsonl in another form. The first three calls are made on the training path:
// they must not write.
class MetricsFollower {
 public:
  virtual ~MetricsFollower() = default;
  // `seconds`: training time of the run so far.
  virtual void step(const StepRecord& record, double samples_per_second, double seconds) = 0;
  virtual void epoch(const EpochRecord& record, double seconds) = 0;
  virtual void validation(const ValidationRecord& record, double seconds) = 0;
  // Returns once all of it is in its file, or cannot be written. Any thread.
  virtual void flush() = 0;
};

// Rank 0's hand: metrics.jsonl, the progress page's part about the whole run, and lines for the terminal.
class RunRecorder {
 public:
  // `seconds`: training time before this process, of a run that goes on. A line is written every `every` steps.
  // `follower` may be null.
  RunRecorder(const std::filesystem::path& metrics, ProgressPage& page, Console console, std::int64_t every,
              double seconds, MetricsFollower* follower);

  // Metrics, and the keys of the experiment that follow them: the first time that one has no value is told.
  void follow(std::map<std::string, std::string> metrics) { followed_ = std::move(metrics); }

  void step(const StepRecord& record);
  // Tells whether step() writes a line of this step.
  bool writes(std::int64_t step) const { return step % every_ == 0; }
  // `judged_by`: the metric whose best value is kept.
  void epoch(const EpochRecord& record, const config::Metric& judged_by);
  void validation(const ValidationRecord& record, const config::Metric& judged_by);
  // Matrices by name, for the summary; of the weights of that step.
  void matrices(const config::Value& by_name, std::int64_t step);
  void test(const TestRecord& record);
  // A save gets on: its rank, which may have nothing else to do, does not hang.
  void saving() { page_.rank(0).note_activity(); }
  // A save has ended. These three and flush() may be called from another thread.
  void checkpoint(const SaveRecord& record);
  void not_saved(std::int64_t step, const std::string& why);
  void resumed(const ResumeRecord& record);
  // Returns once all lines so far are in the file. Throws ddp::Error (training) where one could not be written.
  void flush();
  // Training time of the run so far.
  double seconds() const;

 private:
  // Puts the metrics on the page; returns them in words.
  std::string note(const MetricValues& metrics, std::int64_t step);
  void keep_best(const config::Metric& metric, double value, std::int64_t step);

  using Clock = std::chrono::steady_clock;

  const RunDirectory run_;
  MetricsLog log_;
  MetricsFollower* const follower_;
  ProgressPage& page_;
  const Console console_;
  const std::int64_t every_;
  const double seconds_before_;
  const Clock::time_point started_ = Clock::now();
  double last_line_;                // seconds() at the last line
  std::int64_t samples_since_ = 0;  // samples of all ranks since then
  double epoch_started_;
  std::int64_t epoch_samples_ = 0;
  bool warned_ = false;  // of a loss that is not finite
  std::map<std::string, std::string> followed_;
};

}  // namespace ddp::record
