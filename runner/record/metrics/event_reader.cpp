#include "record/metrics/event_reader.h"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <utility>

#include "config/text/json_text.h"
#include "record/metrics/step_line.h"

namespace ddp::record {
namespace {

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

bool read_step(std::string_view line, Event& event) {
  const auto step = read_step_line(line);
  if (!step) return false;
  event.kind = EventKind::step;
  event.has_place = true;
  event.epoch = step->epoch;
  event.step = step->step;
  event.seconds = step->seconds;
  event.numbers = {{.name = "loss", .value = step->loss},
                   {.name = "lr", .value = step->lr},
                   {.name = "samples_per_second", .value = step->samples_per_second}};
  if (step->grad_norm) event.numbers.push_back({.name = "grad_norm", .value = *step->grad_norm});
  if (!event.members.is_null()) event.members = nullptr;
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

}  // namespace ddp::record
