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

// metrics.jsonl as rank 0 writes it. Lines are appended whole, off the training path; they are in the file within half
// a second, or when flush() returns. If a write fails, as on a full disk, its lines wait for the next attempt. Any
// thread may call append() and flush().
class MetricsLog {
 public:
  // Opens the file for appending. Later errors are reported on `console`, once. Throws ddp::Error (training).
  MetricsLog(const std::filesystem::path& file, const Console& console);
  ~MetricsLog();

  // Takes one line with its newline. Throws ddp::Error if too many lines wait.
  void append(const std::string& line);
  // Returns once all lines are in the file. Throws ddp::Error if they cannot be written.
  void flush();

 private:
  void write_in_background();
  // Returns the reason if lines still wait, else "".
  std::string write_waiting();

  const std::string name_;
  GrowingFile file_;
  std::mutex writing_;     // held while lines are written, to keep their order; guards unwritten_
  std::string unwritten_;  // taken from waiting_, not in the file yet
  std::mutex mutex_;       // guards the members below; never held during a write
  std::condition_variable wake_;
  std::string waiting_;
  bool closing_ = false;
  std::thread writer_;
};

// Appends one line with its newline while no rank writes the file. Throws ddp::Error (training).
void append_line(const std::filesystem::path& file, const std::string& line);

}  // namespace ddp::record
