#include "report/read/turns.h"

#include "base/error.h"
#include "config/text/source.h"
#include "record/metrics/event_reader.h"
#include "record/summary.h"
#include "report/text/words.h"

namespace ddp::report {
namespace {

constexpr std::uintmax_t kLargestMetrics = std::uintmax_t{8} << 30;
constexpr std::size_t kMost = 1000;

Turn turn_of(const record::Event& event) {
  Turn turn;
  turn.event = event.text("event");
  turn.step = event.step;
  // If the cause has several lines, the first has the error and the others its place.
  const std::string cause = event.text("cause");
  turn.cause = config::printable(cause.substr(0, cause.find('\n')));
  const config::Value& line = event.members;
  if (const auto rank = line.find("rank"); rank != line.end() && rank->is_number_unsigned()) {
    turn.cause = "rank " + rank->dump() + ": " + turn.cause;
  }
  if (const auto changes = line.find("changes"); changes != line.end() && changes->is_object()) {
    turn.changes = *changes;
  }
  if (const auto origin = line.find("origin"); origin != line.end()) {
    if (const auto read = record::read_origin(*origin)) turn.origin = config::printable(read->run);
  }
  return turn;
}

}  // namespace

std::vector<Turn> turns_of(const std::filesystem::path& metrics) {
  std::vector<Turn> turns;
  std::error_code none;
  if (!std::filesystem::exists(metrics, none)) return turns;
  const std::uintmax_t size = std::filesystem::file_size(metrics, none);
  if (!none && size > kLargestMetrics) throw usage_error("is too large to search for restarts", metrics.string());
  record::EventReader events(metrics, {record::EventKind::restart, record::EventKind::resume});
  while (const record::Event* event = events.next()) {
    if (turns.size() < kMost) turns.push_back(turn_of(*event));
  }
  return turns;
}

std::string in_words(const Turn& turn) {
  std::string text = "after step " + std::to_string(turn.step);
  if (!turn.origin.empty()) text += " of " + turn.origin;
  if (!turn.cause.empty()) text += ": " + turn.cause;
  for (const auto& [key, values] : turn.changes.items()) {
    if (!values.is_array() || values.size() != 2) continue;
    text += ", " + config::printable(key) + " " + in_words(values[1]) + " for " + in_words(values[0]);
  }
  return text;
}

config::Value to_json(const Turn& turn) {
  config::Value json = {{"event", turn.event}, {"step", turn.step}};
  if (turn.event == "restart") json["cause"] = turn.cause;
  if (turn.event == "resume") json["changes"] = turn.changes;
  if (!turn.origin.empty()) json["origin"] = turn.origin;
  return json;
}

}  // namespace ddp::report
