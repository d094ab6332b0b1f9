#include "report/read/history.h"

#include <algorithm>
#include <string>
#include <utility>

#include "record/metrics/event_reader.h"
#include "record/summary.h"

namespace ddp::report {
namespace {

using config::Value;
using record::Event;
using record::EventKind;

CurvePosition curve_position(const Event& event) {
  return {.epoch = event.epoch, .step = event.step, .seconds = event.seconds};
}

// Copies only the members with these names and types.
Value event_to_json(const Event& event) {
  const Value& line = event.members;
  Value kept = {{"event", line["event"]}, {"epoch", event.epoch}, {"step", event.step}, {"seconds", event.seconds}};
  for (const char* key : {"path", "cause", "checkpoint", "reason"}) {
    if (line.contains(key) && line[key].is_string()) kept[key] = line[key];
  }
  for (const char* key : {"stall", "restart", "rank", "world_size"}) {
    if (line.contains(key) && line[key].is_number()) kept[key] = line[key];
  }
  if (line.contains("changes") && line["changes"].is_object()) kept["changes"] = line["changes"];
  if (const auto origin = line.find("origin"); origin != line.end()) {
    if (const auto read = record::read_origin(*origin)) kept["origin"] = record::to_json(*read);
  }
  return kept;
}

// Collects events in the order of the file.
class Collector {
 public:
  explicit Collector(History& history) : history_(history) {}

  // Returns false if the event does not belong to this run.
  bool take(const Event& event) {
    switch (event.kind) {
      case EventKind::step:
        return is_next(history_.steps, event) && take_numbers(event, history_.steps);
      case EventKind::validation:
        return is_next(history_.epochs, event) && take_numbers(event, history_.epochs);
      case EventKind::epoch:
        return event.epoch > std::exchange(last_epoch_, std::max(last_epoch_, event.epoch)) &&
               take_numbers(event, history_.epochs);
      case EventKind::checkpoint:
        history_.checkpoints.add(event_to_json(event));
        return true;
      default:
        history_.events.add(event_to_json(event));
        return true;
    }
  }

 private:
  // Each step and each epoch occurs once, in order; any other line is foreign.
  static bool is_next(const Curves& curves, const Event& event) {
    return curves.rows() == 0 || event.step > curves.last().step;
  }

  static bool take_numbers(const Event& event, Curves& curves) {
    curves.add(curve_position(event), event.numbers);
    return true;
  }

  History& history_;
  std::int64_t last_epoch_ = -1;
};

}  // namespace

void NewestEvents::add(config::Value event) {
  ++in_all;
  if (newest.size() == kMost) newest.erase(newest.begin());
  newest.push_back(std::move(event));
}

History read_history(const std::filesystem::path& metrics, std::size_t most_points) {
  History history(most_points);
  std::error_code none;
  if (!std::filesystem::exists(metrics, none)) return history;
  record::EventReader events(metrics);
  Collector collector(history);
  while (const Event* event = events.next()) {
    if (!collector.take(*event)) ++history.passed_over;
  }
  history.passed_over += events.damaged();
  return history;
}

}  // namespace ddp::report
