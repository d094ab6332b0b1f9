#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "config/experiment.h"
#include "config/option/value.h"
#include "record/metrics/metrics_log.h"
#include "record/metrics/run_recorder.h"
#include "tensorboard/events.h"

namespace ddp::tensorboard {

// The destination of a run's events, and the run's progress before this process.
struct EventLogOptions {
  std::filesystem::path folder;   // made with the first event
  config::Value parameters = {};  // as hyper_parameters() returns them
  // The run's progress before this process. Later events in the folder are dropped.
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  double seconds = 0;
  record::Console console;
};

// A run's event file for TensorBoard, written off the training path within a second. All events are in one file of the
// folder: a process that resumes a run begins a new file with the valid events of the old one, and empties the old one.
// A failed write is reported and the run continues; nothing is fsynced.
class EventLog final : public record::MetricsFollower {
 public:
  explicit EventLog(EventLogOptions options);
  // Returns once all events are in the file.
  ~EventLog() override;

  void step(const record::StepRecord& record, double samples_per_second, double seconds) override;
  void epoch(const record::EpochRecord& record, double seconds) override;
  void validation(const record::ValidationRecord& record, double seconds) override;
  void flush() override { write(/*last=*/false); }
  // Notes the result of the run, as the last event.
  void finish(bool success);

 private:
  void add(Point point);
  void write_in_background();
  void write(bool last);
  void encode_waiting();
  void begin_file();

  const EventLogOptions o_;
  const double wall_time_at_0_;  // wall time at which training time was 0
  std::mutex writing_;           // held while events are written, to keep their order; guards the members up to mutex_
  std::vector<Point> taken_;
  std::string unwritten_;
  std::optional<record::GrowingFile> file_;
  std::chrono::steady_clock::time_point next_try_;  // earliest next attempt to begin the file
  bool warned_ = false;
  bool given_up_ = false;
  std::mutex mutex_;  // guards the members below; never held during a write
  std::condition_variable wake_;
  std::vector<Point> waiting_;
  std::optional<bool> success_;
  bool closing_ = false;
  std::thread writer_;
};

// Returns the row of a run in TensorBoard's table of hyper-parameters, by keys of the experiment file: every component
// with its options, the seed, and all other settings that differ from their defaults. The values are bools, numbers and
// texts.
config::Value hyper_parameters(const config::Experiment& experiment);

}  // namespace ddp::tensorboard
