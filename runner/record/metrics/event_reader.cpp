#include "record/metrics/event_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/error.h"
#include "config/text/json_text.h"

namespace ddp::record {
namespace {

constexpr std::uint64_t kBlock = 256 << 10;

}  // namespace

std::optional<std::string_view> LineReader::next() {
  for (;;) {
    const std::size_t end = block_.find('\n', begin_);
    if (end != std::string::npos) {
      const std::string_view line(block_.data() + begin_, end - begin_);
      begin_ = end + 1;
      if (!std::exchange(inside_long_line_, false) && line.size() <= longest_) return line;
      ++passed_over_;
    } else if (!fill()) {
      return {};
    }
  }
}

// Reads the next block behind the rest of this one. Returns false at the end of the file.
bool LineReader::fill() {
  block_.erase(0, begin_);
  begin_ = 0;
  if (block_.size() > longest_) {
    inside_long_line_ = true;
    block_.clear();
  }
  const std::uint64_t more = std::min(kBlock, in_.size() - offset_);
  if (more == 0) return false;
  const std::size_t before = block_.size();
  block_.resize(before + more);
  in_.read(offset_, block_.data() + before, more);
  offset_ += more;
  return true;
}

namespace {

// Consumes expected text from the front of a line. After the first mismatch it consumes nothing more.
class Front {
 public:
  explicit Front(std::string_view line) : rest_(line) {}

  Front& text(std::string_view expected) {
    good_ = good_ && rest_.starts_with(expected);
    if (good_) rest_.remove_prefix(expected.size());
    return *this;
  }

  Front& count(std::int64_t& value) {
    take(value);
    good_ = good_ && value >= 0;
    return *this;
  }

  // Takes null as NaN: not finite.
  Front& number(double& value) {
    value = std::numeric_limits<double>::quiet_NaN();
    if (found("null")) return *this;
    take(value);
    good_ = good_ && std::isfinite(value);  // from_chars takes "inf" too
    return *this;
  }

  // Consumes the text if the line continues with it.
  bool found(std::string_view text) {
    const bool here = good_ && rest_.starts_with(text);
    if (here) rest_.remove_prefix(text.size());
    return here;
  }

  bool ended(std::string_view one, std::string_view other) const { return good_ && (rest_ == one || rest_ == other); }

 private:
  template <class Number>
  void take(Number& value) {
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    good_ = good_ && error == std::errc{};
    if (good_) rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
  }

  std::string_view rest_;
  bool good_ = true;
};

constexpr double kNotFinite = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kLongestName = 64;
constexpr std::string_view kFront = "{\"event\":\"";
constexpr std::string_view kStepEnd = "step\"";

constexpr std::array<std::pair<std::string_view, EventKind>, 7> kKinds = {{{"step", EventKind::step},
                                                                           {"epoch", EventKind::epoch},
                                                                           {"validation", EventKind::validation},
                                                                           {"checkpoint", EventKind::checkpoint},
                                                                           {"resume", EventKind::resume},
                                                                           {"restart", EventKind::restart},
                                                                           {"test", EventKind::test}}};

EventKind kind_named(std::string_view name) {
  for (const auto& [known, kind] : kKinds) {
    if (name == known) return kind;
  }
  return EventKind::unknown;
}

bool has_numbers(EventKind kind) {
  return kind == EventKind::step || kind == EventKind::epoch || kind == EventKind::validation ||
         kind == EventKind::test;
}

bool needs_place(EventKind kind) { return kind != EventKind::test && kind != EventKind::unknown; }

bool is_measured(std::string_view key, const config::Value& value) {
  if (!value.is_number() && !value.is_null()) return false;
  return key.size() <= kLongestName && key != "epoch" && key != "step" && key != "seconds" && key != "samples";
}

void take_place(Event& event) {
  const auto epoch = event.members.find("epoch");
  const auto step = event.members.find("step");
  const auto seconds = event.members.find("seconds");
  const auto none = event.members.end();
  event.epoch = epoch == none ? 0 : config::as_count(*epoch);
  event.step = step == none ? 0 : config::as_count(*step);
  event.has_place = epoch != none && step != none;
  // A value of another type counts as 0.
  event.seconds = seconds != none && seconds->is_number() ? seconds->get<double>() : 0;
}

void take_numbers(Event& event) {
  for (const auto& [key, value] : event.members.items()) {
    if (!is_measured(key, value)) continue;
    event.numbers.push_back({.name = key, .value = value.is_null() ? kNotFinite : value.get<double>()});
  }
}

// Reads a line in the exact form that to_line() of event_lines.h writes. A file may have millions of such lines, and
// this takes a twentieth of the time of a JSON parser.
bool read_step(std::string_view line, Event& event) {
  std::int64_t samples = 0;
  event.numbers = {{.name = "loss"}, {.name = "lr"}, {.name = "samples_per_second"}};
  Front front(line);
  front.text(R"({"event":"step","epoch":)").count(event.epoch);
  front.text(R"(,"step":)").count(event.step);
  front.text(R"(,"loss":)").number(event.numbers[0].value);
  front.text(R"(,"lr":)").number(event.numbers[1].value);
  front.text(R"(,"samples":)").count(samples);
  front.text(R"(,"samples_per_second":)").number(event.numbers[2].value);
  front.text(R"(,"seconds":)").number(event.seconds);
  if (front.found(R"(,"grad_norm":)"))
    front.number(event.numbers.emplace_back(Event::Number{.name = "grad_norm"}).value);
  front.found(R"(,"skipped":true)");
  if (!front.ended("}", R"(,"finite":false})")) return false;
  event.kind = EventKind::step;
  event.has_place = true;
  if (!std::isfinite(event.seconds)) event.seconds = 0;
  event.members = nullptr;
  return true;
}

}  // namespace

double Event::number(std::string_view name) const {
  for (const Number& one : numbers) {
    if (one.name == name) return one.value;
  }
  return kNotFinite;
}

std::string Event::text(const char* key) const {
  const auto found = members.find(key);
  return found != members.end() && found->is_string() ? found->get<std::string>() : "";
}

bool read_event(std::string_view line, Event& event) try {
  if (read_step(line, event)) return true;
  event.numbers.clear();
  event.members = config::parse_value(line);
  const auto name = event.members.find("event");
  if (name == event.members.end() || !name->is_string()) return false;
  event.kind = kind_named(name->get_ref<const std::string&>());
  take_place(event);
  if (has_numbers(event.kind)) take_numbers(event);
  return event.has_place || !needs_place(event.kind);
} catch (const std::exception&) {
  return false;
}

std::optional<EventKind> kind_in_front(std::string_view line) {
  if (!line.starts_with(kFront)) return {};
  line.remove_prefix(kFront.size());
  // Nearly all lines are steps.
  if (line.starts_with(kStepEnd)) return EventKind::step;
  const std::string_view name = line.substr(0, line.find('"'));
  if (name.size() == line.size() || name.find('\\') != std::string_view::npos) return {};
  return kind_named(name);
}

bool EventReader::is_wanted(EventKind kind) const {
  return wanted_.empty() || std::find(wanted_.begin(), wanted_.end(), kind) != wanted_.end();
}

const Event* EventReader::next() {
  while (const auto line = lines_.next()) {
    line_ = *line;
    if (!wanted_.empty()) {
      const auto kind = kind_in_front(line_);
      if (kind && !is_wanted(*kind)) continue;
    }
    if (!read_event(line_, event_)) {
      ++damaged_;
    } else if (is_wanted(event_.kind)) {
      return &event_;
    }
  }
  return nullptr;
}

const Event* EventReader::unfinished() {
  line_ = lines_.rest();
  return !line_.empty() && read_event(line_, event_) && is_wanted(event_.kind) ? &event_ : nullptr;
}

namespace {

constexpr std::string_view kTrainPrefix = "train_";

// A validation inside an epoch comes before the line with the losses of its training.
void add_training(std::optional<ValidationFigures>& measured, const Event& event) {
  if (!measured || event.kind != EventKind::epoch || event.epoch != measured->epoch) return;
  for (const auto& [name, value] : event.numbers) {
    if (name.starts_with(kTrainPrefix)) measured->train[std::string(name)] = config::number_or_null(value);
  }
}

ValidationFigures measured_in(const Event& event, const config::Metric& judged_by) {
  ValidationFigures measured{.metric = judged_by.name, .step = event.step, .epoch = event.epoch};
  for (const auto& [name, value] : event.numbers) {
    if (name.starts_with(config::kValidationPrefix)) measured.values[std::string(name)] = config::number_or_null(value);
    if (name == judged_by.name && std::isfinite(value)) measured.value = value;
  }
  return measured;
}

}  // namespace

EpochHistory epoch_history(const std::filesystem::path& metrics, const config::Metric& judged_by,
                           std::optional<std::int64_t> best_step) {
  EpochHistory history;
  std::error_code none;
  if (!std::filesystem::is_regular_file(metrics, none)) return history;
  try {
    EventReader events(metrics, {EventKind::epoch, EventKind::validation});
    while (const Event* event = events.next()) {
      // Not every epoch has a validation: the last values stay.
      for (const auto& [name, value] : event->numbers) {
        if (is_metric_name(name)) set_value(history.metrics, std::string(name), value);
      }
      const ValidationFigures measured = measured_in(*event, judged_by);
      const bool validates = history.last && !history.last->values.empty();
      const bool counts =
          !measured.values.empty() || (!validates && !judged_by.name.starts_with(config::kValidationPrefix));
      if (counts) history.last = measured;
      if (counts && measured.step == best_step) history.best = measured;
      add_training(history.last, *event);
      add_training(history.best, *event);
    }
  } catch (const Error&) {
    // The run's later epoch lines do not need the earlier ones.
  }
  if (!best_step || (history.last && history.last->values.empty())) history.best = history.last;
  return history;
}

EpochHistory history_of(const RunDirectory& run, std::optional<config::Metric> judged_by) {
  std::optional<Ranked> saved;
  try {
    const std::vector<std::filesystem::path> newest_first = complete_checkpoints(run.checkpoints());
    if (!judged_by && !newest_first.empty()) judged_by = position_of(newest_first.front()).judged_by;
    if (judged_by) saved = best_saved(run.checkpoints(), *judged_by);
  } catch (const Error&) {
    // Without readable checkpoints, metrics.jsonl alone tells.
  }
  if (!saved) return epoch_history(run.metrics(), judged_by.value_or(config::Metric{.name = "val_loss"}));
  EpochHistory history = epoch_history(run.metrics(), *judged_by, saved->step);
  // A fork has no lines for epochs before its first checkpoint.
  if (!history.best) {
    history.best = {.metric = judged_by->name,
                    .value = saved->value,
                    .step = saved->step,
                    .epoch = position_of(saved->folder).epoch_of_step(),
                    .values = {{judged_by->name, saved->value}}};
  }
  return history;
}

}  // namespace ddp::record
