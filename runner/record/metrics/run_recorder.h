#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "record/console.h"
#include "record/metrics/metrics_log.h"
#include "record/progress_page.h"
#include "record/saves/checkpoint_index.h"

namespace ddp::record {

// One optimizer step, as metrics.jsonl tells it.
struct StepRecord {
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  double loss = 0;
  double lr = 0;
  std::int64_t samples = 0;  // of all ranks
};

// An epoch's end. NaN: not measured.
struct EpochRecord {
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  std::int64_t samples = 0;  // of the whole epoch, all ranks
  double train_loss = 0;
  double val_loss = 0;
  double val_accuracy = 0;

  // The value of the metric of that name.
  double metric(const std::string& name) const;
};

// A checkpoint that is there.
struct SaveRecord {
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  std::filesystem::path folder;
  double stall = 0;  // seconds that training waited for it
  SaveReason reason = SaveReason::regular;
};

// From where a run goes on, and with what.
struct ResumeRecord {
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  std::filesystem::path checkpoint;  // empty: from the start
  int world_size = 1;
  std::string changes;  // of the experiment, a JSON object; empty: none
};

// Who is told what metrics.jsonl tells, to keep it in another form. The first two are called on the training path:
// they must not write.
class MetricsFollower {
 public:
  virtual ~MetricsFollower() = default;
  // `seconds`: training time of the run so far.
  virtual void step(const StepRecord& record, double samples_per_second, double seconds) = 0;
  virtual void epoch(const EpochRecord& record, double seconds) = 0;
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

  void step(const StepRecord& record);
  // `metric`: the one whose best value is kept.
  void epoch(const EpochRecord& record, const std::string& metric);
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
  void keep_best(const std::string& metric, double value, std::int64_t step);

  using Clock = std::chrono::steady_clock;

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
};

}  // namespace ddp::record
