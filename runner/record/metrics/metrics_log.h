#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

#include "record/console.h"
#include "record/file/growing_file.h"

namespace ddp::record {

// metrics.jsonl as rank 0 writes it: lines are appended whole, off the training path, and are in the file
// within half a second, or as soon as flush() returns. Lines that cannot be written, on a full disk, wait for their
// next chance. Any thread may append and flush.
class MetricsLog {
 public:
  // Opens the file for appending. What goes wrong later is told on `console`, once. Throws ddp::Error (training).
  MetricsLog(const std::filesystem::path& file, const Console& console);
  ~MetricsLog();

  // Takes one line with its newline. Throws ddp::Error where too many already wait.
  void append(const std::string& line);
  // Returns once all lines are in the file. Throws ddp::Error where they could not be written.
  void flush();

 private:
  void write_in_background();
  // Returns why lines still wait; empty: none do.
  std::string write_waiting();

  const std::string name_;
  GrowingFile file_;
  std::mutex writing_;     // held while lines are written, so that they keep their order; guards the next
  std::string unwritten_;  // taken from waiting_, not in the file yet
  std::mutex mutex_;       // guards what follows; never held during a write
  std::condition_variable wake_;
  std::string waiting_;
  bool closing_ = false;
  std::thread writer_;
};

// Appends one line with its newline, where no rank writes the file. Throws ddp::Error (training).
void append_line(const std::filesystem::path& file, const std::string& line);

}  // namespace ddp::record
