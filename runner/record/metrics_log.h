#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

#include "base/file_descriptor.h"

namespace ddp::record {

// metrics.jsonl as rank 0 writes it: lines are appended whole, off the training path, and are in the file
// within half a second, or as soon as flush() returns.
class MetricsLog {
 public:
  // Opens the file for appending. Throws ddp::Error (training).
  explicit MetricsLog(const std::filesystem::path& file);
  ~MetricsLog();

  // Takes one line with its newline.
  void append(const std::string& line);
  // Returns once all lines are in the file. Throws ddp::Error where one could not be written.
  void flush();

 private:
  void write_in_background();
  void write_waiting(std::unique_lock<std::mutex>& lock);

  const std::string name_;
  FileDescriptor file_;
  std::mutex mutex_;  // guards what follows; held while writing, so that lines keep their order
  std::condition_variable wake_;
  std::string waiting_;
  std::string failure_;
  bool closing_ = false;
  std::thread writer_;
};

// Takes from metrics.jsonl what came after a checkpoint, and a line that was not finished, so that a run that
// goes on from there has each step once: events after `step` go, and so do epoch lines of `epoch` and later.
void rewind_metrics(const std::filesystem::path& file, std::int64_t step, std::int64_t epoch);

}  // namespace ddp::record
