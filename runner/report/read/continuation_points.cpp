#include "report/read/continuation_points.h"

#include "base/error.h"
#include "config/text/source.h"
#include "record/metrics/event_reader.h"
#include "record/summary.h"
#include "report/text/words.h"

namespace ddp::report {
namespace {

constexpr std::uintmax_t kLargestMetrics = std::uintmax_t{8} << 30;
constexpr std::size_t kMost = 1000;

ContinuationPoint continuation_point_of(const record::Event& event) {
  ContinuationPoint point;
  point.event = event.text("event");
  point.step = event.step;
  // If the cause has several lines, the first has the error and the others its place.
  const std::string cause = event.text("cause");
  point.cause = config::printable(cause.substr(0, cause.find('\n')));
  const config::Value& line = event.members;
  if (const auto rank = line.find("rank"); rank != line.end() && rank->is_number_unsigned()) {
    point.cause = "rank " + rank->dump() + ": " + point.cause;
  }
  if (const auto changes = line.find("changes"); changes != line.end() && changes->is_object()) {
    point.changes = *changes;
  }
  if (const auto origin = line.find("origin"); origin != line.end()) {
    if (const auto read = record::read_origin(*origin)) point.origin = config::printable(read->run);
  }
  return point;
}

}  // namespace

std::vector<ContinuationPoint> continuation_points_of(const std::filesystem::path& metrics) {
  std::vector<ContinuationPoint> points;
  std::error_code none;
  if (!std::filesystem::exists(metrics, none)) return points;
  const std::uintmax_t size = std::filesystem::file_size(metrics, none);
  if (!none && size > kLargestMetrics) throw usage_error("is too large to search for restarts", metrics.string());
  record::EventReader events(metrics, {record::EventKind::restart, record::EventKind::resume});
  while (const record::Event* event = events.next()) {
    if (points.size() < kMost) points.push_back(continuation_point_of(*event));
  }
  return points;
}

std::string in_words(const ContinuationPoint& point) {
  std::string text = "after step " + std::to_string(point.step);
  if (!point.origin.empty()) text += " of " + point.origin;
  if (!point.cause.empty()) text += ": " + point.cause;
  for (const auto& [key, values] : point.changes.items()) {
    if (!values.is_array() || values.size() != 2) continue;
    text += ", " + config::printable(key) + " " + in_words(values[1]) + " for " + in_words(values[0]);
  }
  return text;
}

config::Value to_json(const ContinuationPoint& point) {
  config::Value json = {{"event", point.event}, {"step", point.step}};
  if (point.event == "restart") json["cause"] = point.cause;
  if (point.event == "resume") json["changes"] = point.changes;
  if (!point.origin.empty()) json["origin"] = point.origin;
  return json;
}

}  // namespace ddp::report
