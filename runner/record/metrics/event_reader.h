#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/value.h"
#include "record/metrics/lines.h"

namespace ddp::record {

enum class EventKind { step, epoch, validation, checkpoint, resume, restart, test, unknown };

// A line of metrics.jsonl. An event of an unknown kind may be a later version's.
struct Event {
  // A number that was measured; NaN: it is not finite.
  struct Number {
    std::string_view name;
    double value = 0;
  };

  EventKind kind = EventKind::unknown;
  // The place in the run. Of a test, and of an unknown event, the line may say none.
  bool has_place = false;
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  double seconds = 0;
  // Of a step, an epoch's end, a validation and a test: all numbers but the place and the count of samples, in the
  // line's order.
  std::vector<Number> numbers;
  // The whole line; null for a step in the order of the writer.
  config::Value members;

  // The number under that name; NaN where there is none.
  double number(std::string_view name) const;
  // The text under a key; empty where there is none.
  std::string text(const char* key) const;
};

// Reads a line, without its newline: keys in any order, and keys of other versions. A step in the order of the writer
// takes a twentieth of the time of another line. False: the line is damaged; the event is then of no use. The event's
// names point into the event and into the line's members: it must not be copied.
bool read_event(std::string_view line, Event& event);

// The kind of a line that begins as the writer begins it, by a look at its front; nothing for another line.
std::optional<EventKind> kind_in_front(std::string_view line);

// The one reader of metrics.jsonl: its events, one after the other, in bounded memory.
class EventReader {
 public:
  // `wanted`: the kinds that next() returns; none given: all. Most lines of other kinds are passed by without being
  // read. Throws ddp::Error (training) where the file cannot be opened; next(), where it cannot be read on.
  explicit EventReader(const std::filesystem::path& metrics, std::initializer_list<EventKind> wanted = {},
                       std::size_t longest_line = Lines::kLongest)
      : wanted_(wanted), lines_(metrics, longest_line) {}
  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;

  // The next event, good until the next call; null at the end.
  const Event* next();
  // After the last one: the event in a line that has no newline; null where there is none that is whole.
  const Event* unfinished();
  // The line of the event that was returned last, without its newline.
  std::string_view line() const { return line_; }
  // Damaged lines so far.
  std::int64_t damaged() const { return damaged_ + lines_.passed_over(); }

 private:
  bool is_wanted(EventKind kind) const;

  const std::vector<EventKind> wanted_;
  Lines lines_;
  std::string_view line_;
  Event event_;
  std::int64_t damaged_ = 0;
};

}  // namespace ddp::record
