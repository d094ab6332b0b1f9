#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_descriptor.h"
#include "config/option/value.h"

namespace ddp::sweep {

inline const std::vector<std::string> kMethods = {"grid", "random", "asha", "tpe", "cv", "race"};

// An event of a trial: a line of journal.jsonl.
struct Event {
  // "started", then one of: "finished", the trial has ended; "paused", it may continue later; "failed"; "interrupted".
  std::string kind = {};
  int trial = 0;
  std::int64_t until_epoch = 0;        // started: train until this epoch; 0: to the end
  config::Value parameters = nullptr;  // started
  std::int64_t epochs = 0;             // that the trial has trained
  std::optional<double> metric = {};   // its value
  double seconds = 0;
  std::string stopped_by = {};  // rule of [stop] that ended the trial before its last step; empty: none
  std::string error = {};       // failed
  bool not_finite = false;      // failed because the metric is no finite number
};

// Parses the events of a journal, in their order. A last line without a line end was not written completely and is
// skipped. Throws std::runtime_error that names the line and what is wrong with it.
std::vector<Event> parse_journal(std::string_view text);

// The journal.jsonl of a sweep: one line for each event, appended by a single write. If a sweep is killed, at most the
// last line is incomplete; it is removed when the journal is opened again.
class Journal {
 public:
  // Opens the file to append to it. Throws ddp::Error (training).
  explicit Journal(const std::filesystem::path& file);

  // Throws ddp::Error (training) if the line cannot be written.
  void add(const Event& event);
  // Calls `body` while no other process of the sweep appends an event or runs alone().
  void alone(const std::function<void()>& body) const;
  // Writes the first line of the journal of a sweep with that many trials.
  void begin(const std::string& method, int trials);

 private:
  void append(const config::Value& line);

  const std::string name_;
  FileDescriptor file_;
};

// The JSON Schema of the lines.
config::Value journal_schema();

// Reads the events of a sweep's journal; none if the file does not exist. Throws ddp::Error (usage) if it is damaged.
std::vector<Event> read_journal(const std::filesystem::path& file);

}  // namespace ddp::sweep
