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

#include "config/value.h"
#include "record/console.h"
#include "record/file/growing_file.h"
#include "record/metrics/run_recorder.h"
#include "tensorboard/events.h"

namespace ddp::tensorboard {

// Which events, and where the run stands that they are of.
struct EventLogOptions {
  std::filesystem::path folder;   // made when there is something to write
  config::Value parameters = {};  // as hyper_parameters() returns them
  // What the run had done before this process. Of what is in the folder, only that is kept.
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  double seconds = 0;
  record::Console console;
};

// A run's event file for TensorBoard, written off the training path within a second. One file of the folder has it
// all: a process that goes on with a run begins another with what is kept of the one before, and empties that. What
// cannot be written is told, and the run goes on; nothing is fsynced.
class EventLog final : public record::MetricsFollower {
 public:
  explicit EventLog(EventLogOptions options);
  // Returns when all is in the file.
  ~EventLog() override;

  void step(const record::StepRecord& record, double samples_per_second, double seconds) override;
  void epoch(const record::EpochRecord& record, double seconds) override;
  void validation(const record::ValidationRecord& record, double seconds) override;
  void flush() override { write(/*last=*/false); }
  // How the run ended: the last of it.
  void finish(bool success);

 private:
  void add(Point point);
  void write_in_background();
  void write(bool last);
  void encode_waiting();
  void begin_file();

  const EventLogOptions o_;
  const double wall_time_at_0_;  // of training time
  std::mutex writing_;           // held while events are written, so that they keep their order; guards up to mutex_
  std::vector<Point> taken_;
  std::string unwritten_;
  std::optional<record::GrowingFile> file_;
  std::chrono::steady_clock::time_point next_try_;  // to begin the file
  bool warned_ = false;
  bool given_up_ = false;
  std::mutex mutex_;  // guards what follows; never held during a write
  std::condition_variable wake_;
  std::vector<Point> waiting_;
  std::optional<bool> success_;
  bool closing_ = false;
  std::thread writer_;
};

}  // namespace ddp::tensorboard
