#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_descriptor.h"
#include "config/value.h"

namespace ddp::sweep {

// What happened to a trial, as a line of journal.jsonl tells it.
struct Event {
  // started, then one of: finished, at its end; paused, to go on later or never; failed; interrupted.
  std::string kind = {};
  int trial = 0;
  std::int64_t until_epoch = 0;        // started: until so many are done; 0: to its end
  config::Value parameters = nullptr;  // started
  std::int64_t epochs = 0;             // that it has done
  config::Value metric = nullptr;      // what it reached
  double seconds = 0;
  std::string stopped_by = {};  // the rule of [stop] that ended it before its last step; empty: none did
  std::string error = {};       // failed
  bool not_finite = false;      // failed, since the metric is no finite number
};

// The events of a journal's text, in their order. A last line that has no end was not written whole, and is no event.
// Throws std::runtime_error that says what is wrong with which line.
std::vector<Event> parse_journal(std::string_view text);

// journal.jsonl of a sweep: a line for each event, each appended by one write. A sweep that is killed at any moment
// leaves whole lines, and may be one that is not, which goes when the journal is opened again.
class Journal {
 public:
  // Opens it to append to. Throws ddp::Error (training).
  explicit Journal(const std::filesystem::path& file);

  // Throws ddp::Error (training) where the line cannot be written.
  void add(const Event& event);
  // Does this while no other process that writes the sweep adds an event, or does likewise.
  void alone(const std::function<void()>& body) const;
  // The line that begins the journal of a sweep with so many trials.
  void begin(const std::string& method, int trials);

 private:
  void append(config::Value line);

  const std::string name_;
  FileDescriptor file_;
};

// The events of a sweep's journal; none where there is no such file. Throws ddp::Error (usage) where it is damaged.
std::vector<Event> read_journal(const std::filesystem::path& file);

}  // namespace ddp::sweep
