#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

#include "base/file_descriptor.h"

namespace ddp::record {

// A rank's messages to the person at the terminal: whole lines through a pipe to the parent, which shows them without
// tearing its live line. Each line also goes to the rank's own log.
class Console {
 public:
  explicit Console(int pipe) : pipe_(pipe) {}
  void line(const std::string& text) const;
  // A line that the terminal shows only with --verbose.
  void detail(const std::string& text) const;

 private:
  void tell(const std::string& text) const;

  int pipe_;
};

// A file to which whole pieces are appended. If a piece does not fit on the disk, no part of it stays in the file, and
// the caller keeps the piece. A full disk is reported once, and once more when there is room again.
class GrowingFile {
 public:
  // Reports errors on `console`; `what` names the pieces in them: "lines".
  GrowingFile(FileDescriptor file, std::string name, const Console& console, std::string what);

  // Writes `text` and empties it. Returns the reason if the write fails, else "".
  std::string append(std::string& text);

 private:
  FileDescriptor file_;
  const std::string name_;
  const Console console_;
  const std::string what_;
  bool failing_ = false;
};

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
  // The same, but what cannot be written waits for the next attempt.
  void try_flush() { write_waiting(); }

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

// Cuts metrics.jsonl back to a checkpoint, so that a resumed run has each step once. Removes events after `step`, epoch
// lines of `epoch` and later, and an unfinished last line. Throws ddp::Error (usage) if the file cannot be read.
void rewind_metrics(const std::filesystem::path& file, std::int64_t step, std::int64_t epoch);

}  // namespace ddp::record
