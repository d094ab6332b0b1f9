#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/metric.h"
#include "config/option/value.h"
#include "record/file/input_file.h"
#include "record/metrics/metric_values.h"
#include "record/summary.h"

namespace ddp::record {

// The lines of a file of any size, one by one; the memory is one block. Skips and counts lines longer than `longest`
// bytes: no run writes them. Also skips, without counting, the text behind the last newline: a run is still writing it.
class LineReader {
 public:
  static constexpr std::size_t kLongest = 64 << 10;

  // Throws ddp::Error (training) if the file cannot be opened; next() throws it if a read fails.
  // `from`: the offset of the first line.
  explicit LineReader(const std::filesystem::path& file, std::size_t longest = kLongest, std::uint64_t from = 0)
      : in_(file), longest_(longest), offset_(from) {}

  // Returns the next line without its newline, valid until the next call.
  std::optional<std::string_view> next();
  std::int64_t passed_over() const { return passed_over_; }
  // The offset of the next line.
  std::uint64_t position() const { return offset_ - (block_.size() - begin_); }
  // After the last line: the text behind the last newline.
  std::string_view rest() const {
    return inside_long_line_ ? std::string_view() : std::string_view(block_).substr(begin_);
  }

 private:
  bool fill();

  const InputFile in_;
  const std::size_t longest_;
  std::uint64_t offset_;  // of the first byte that is not in block_ yet
  std::string block_;
  std::size_t begin_ = 0;  // of the first byte that next() has not returned yet
  bool inside_long_line_ = false;
  std::int64_t passed_over_ = 0;
};

enum class EventKind { step, epoch, validation, checkpoint, resume, restart, test, unknown };

// A line of metrics.jsonl. An event of an unknown kind may come from a later version.
struct Event {
  // A measured number; NaN: not finite.
  struct Number {
    std::string_view name;
    double value = 0;
  };

  EventKind kind = EventKind::unknown;
  // The place in the run. The line of a test or of an unknown event may lack it.
  bool has_place = false;
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  double seconds = 0;
  // For a step, the end of an epoch, a validation and a test: all numbers except the place and the count of samples, in
  // the line's order.
  std::vector<Number> numbers;
  // The whole line as JSON; null for a step whose keys are in the writer's order.
  config::Value members;

  // Returns the number with this name, or NaN.
  double number(std::string_view name) const;
  // Returns the text of this key, or "".
  std::string text(const char* key) const;
};

// Reads a line without its newline. Keys may be in any order; keys of other versions are accepted. A step in the
// writer's order takes a twentieth of the time of another line. Returns false if the line is damaged; the event must
// then not be used. The event's names point into the event and into the line's members: do not copy the event.
bool read_event(std::string_view line, Event& event);

// Returns the kind of a line that begins as the writer begins it; looks at its front only. Returns nothing for any
// other line.
std::optional<EventKind> kind_in_front(std::string_view line);

// The only reader of metrics.jsonl: returns its events one by one, in bounded memory.
class EventReader {
 public:
  // `wanted`: the kinds that next() returns; empty: all. Most lines of other kinds are skipped unparsed. Throws
  // ddp::Error (training) if the file cannot be opened; next() throws it if a read fails.
  explicit EventReader(const std::filesystem::path& metrics, std::initializer_list<EventKind> wanted = {},
                       std::size_t longest_line = LineReader::kLongest, std::uint64_t from = 0)
      : wanted_(wanted), lines_(metrics, longest_line, from) {}
  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;

  // Returns the next event, valid until the next call; null at the end.
  const Event* next();
  // After the last event: returns the event of a last line that lacks its newline; null if no such line is whole.
  const Event* unfinished();
  // The line of the last returned event, without its newline.
  std::string_view line() const { return line_; }
  // The number of damaged lines so far.
  std::int64_t damaged() const { return damaged_ + lines_.passed_over(); }
  // The offset of the next line in the file, for `from` of a later reader.
  std::uint64_t position() const { return lines_.position(); }

 private:
  bool is_wanted(EventKind kind) const;

  const std::vector<EventKind> wanted_;
  LineReader lines_;
  std::string_view line_;
  Event event_;
  std::int64_t damaged_ = 0;
};

// The results of the epochs and validations of a run.
struct EpochHistory {
  MetricValues metrics;                   // the last value of each metric
  std::optional<ValidationFigures> best;  // nothing: nothing was measured, or its line is missing
  std::optional<ValidationFigures> last;
};

// Reads metrics.jsonl. `judged_by` is checkpoint.metric, and `best` the validation after `best_step`; without a step,
// the last one. In a run without validation, epochs count. Returns an empty history if the file is missing or cannot be
// read.
EpochHistory epoch_history(const std::filesystem::path& metrics, const config::Metric& judged_by,
                           std::optional<std::int64_t> best_step = {});

// The same for a run with its checkpoints: `best` is that of the best saved checkpoint, which commands use.
// `judged_by`: nothing stands for the metric of the newest checkpoint.
EpochHistory history_of(const RunDirectory& run, std::optional<config::Metric> judged_by = {});

}  // namespace ddp::record
