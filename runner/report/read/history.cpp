#include "report/read/history.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "config/text/source.h"
#include "record/file/input_file.h"
#include "record/metrics/event_reader.h"
#include "record/summary.h"
#include "report/text/words.h"

namespace ddp::report {

config::Value rounded(double value) {
  if (!std::isfinite(value)) return nullptr;
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::general, 6).ptr;
  double result = 0;
  std::from_chars(text, end, result);
  // 64 is shorter than 64.0.
  if (std::abs(result) < 1e6 && result == std::trunc(result)) return static_cast<std::int64_t>(result);
  return std::isfinite(result) ? config::Value(result) : config::Value(nullptr);
}

void Curves::Cell::take(const Cell& other) {
  not_finite += other.not_finite;
  if (other.finite == 0) return;
  min = finite == 0 ? other.min : std::min(min, other.min);
  max = finite == 0 ? other.max : std::max(max, other.max);
  finite += other.finite;
  // Two separate terms do not overflow if the numbers themselves do not.
  const double share = static_cast<double>(other.finite) / static_cast<double>(finite);
  mean = mean * (1 - share) + other.mean * share;
}

void Curves::Point::take(const Point& other) {
  position = other.position;
  rows += other.rows;
  if (cells.size() < other.cells.size()) cells.resize(other.cells.size());
  for (std::size_t i = 0; i < other.cells.size(); ++i) cells[i].take(other.cells[i]);
}

std::size_t Curves::column(std::string_view name) {
  const auto found = std::find(names_.begin(), names_.end(), name);
  const auto index = static_cast<std::size_t>(found - names_.begin());
  if (found == names_.end() && names_.size() < kMostColumns) names_.emplace_back(name);
  return index;
}

void Curves::add(const CurvePosition& position, std::span<const record::Event::Number> numbers) {
  if (points_.empty() || points_.back().rows == rows_per_point_) {
    if (points_.size() >= most_) halve();
    if (points_.empty() || points_.back().rows == rows_per_point_) points_.emplace_back();
  }
  Point& point = points_.back();
  point.position = last_ = position;
  ++point.rows;
  ++rows_;
  for (const auto& [name, value] : numbers) {
    const std::size_t index = column(name);
    if (index >= kMostColumns) continue;
    if (point.cells.size() <= index) point.cells.resize(index + 1);
    const bool finite = std::isfinite(value);
    point.cells[index].take(finite ? Cell{value, value, value, 1, 0} : Cell{0, 0, 0, 0, 1});
  }
}

void Curves::halve() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < points_.size(); i += 2) {
    if (i + 1 < points_.size()) points_[i].take(points_[i + 1]);
    if (kept != i) points_[kept] = std::move(points_[i]);
    ++kept;
  }
  points_.resize(kept);
  rows_per_point_ *= 2;
}

struct Curves::Column {
  config::Value mean = config::Value::array();
  config::Value min = mean, max = mean, not_finite = mean;

  Column() = default;
  Column(const std::vector<Point>& points, std::size_t column, bool with_range) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Cell cell = column < points[i].cells.size() ? points[i].cells[column] : Cell();
      const bool any = cell.finite > 0;
      mean.push_back(any ? rounded(cell.mean) : nullptr);
      min.push_back(any ? rounded(cell.min) : nullptr);
      max.push_back(any ? rounded(cell.max) : nullptr);
      if (cell.not_finite > 0) not_finite.push_back({i, cell.not_finite});
    }
    if (!with_range) min = max = nullptr;
  }

  void members(config::Members& m) const {
    using Numbers = std::vector<std::optional<double>>;
    m.as<Numbers>({"mean"}, mean);
    for (const auto& [name, numbers] : {std::pair{"min", &min}, {"max", &max}}) {
      m.as<Numbers>({.name = name, .doc = "if points have several rows", .optional = true}, *numbers);
    }
    m.as<std::vector<std::vector<std::int64_t>>>({"not_finite", "index of the point, number of such rows"}, not_finite);
  }
};

void Curves::members(config::Members& m) const {
  auto epoch = config::Value::array(), step = epoch, seconds = epoch;
  for (const Point& point : points_) {
    epoch.push_back(point.position.epoch);
    step.push_back(point.position.step);
    seconds.push_back(rounded(point.position.seconds));
  }
  config::Value columns = config::Value::object();
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (!hidden_.contains(names_[i])) columns[names_[i]] = config::written(Column(points_, i, rows_per_point_ > 1));
  }
  m({"rows"}, rows_);
  m({"rows_per_point"}, rows_per_point_);
  m.as<std::vector<std::int64_t>>({"epoch"}, epoch);
  m.as<std::vector<std::int64_t>>({"step"}, step);
  m.as<std::vector<std::optional<double>>>({"seconds"}, seconds);
  m.as<std::map<std::string, Column>>({"columns"}, columns);
}

namespace {

using config::Value;
using record::Event;
using record::EventKind;

// An event, with those members of its line that have the expected types.
struct HistoryEvent {
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  double seconds = 0;
  Value line = Value::object();

  void members(config::Members& m) const {
    const auto of_type = [this](const char* key, bool (Value::*is)() const noexcept) {
      const auto found = line.find(key);
      return found != line.end() && ((*found).*is)() ? *found : Value();
    };
    m.as<std::string>({"event"}, of_type("event", &Value::is_string));
    m({"epoch"}, epoch);
    m({"step"}, step);
    m({"seconds"}, seconds);
    for (const char* key : {"path", "cause", "checkpoint", "reason"}) {
      m.as<std::string>({.name = key, .optional = true}, of_type(key, &Value::is_string));
    }
    for (const char* key : {"stall", "restart", "rank", "world_size"}) {
      m.as<double>({.name = key, .optional = true}, of_type(key, &Value::is_number));
    }
    m({.name = "changes", .optional = true, .type = "object"}, of_type("changes", &Value::is_object));
    m({.name = "origin", .optional = true}, record::read_origin(line.value("origin", Value())));
  }
};

Value event_to_json(const Event& event) {
  return config::written(
      HistoryEvent{.epoch = event.epoch, .step = event.step, .seconds = event.seconds, .line = event.members});
}

// Takes the next event of the file. Returns false if it does not belong to this run: each step and each epoch occurs
// once, in order.
bool take(History& history, const Event& event, std::int64_t& last_epoch) {
  const auto add = [&event](Curves& curves, bool is_next) {
    if (is_next) curves.add({.epoch = event.epoch, .step = event.step, .seconds = event.seconds}, event.numbers);
    return is_next;
  };
  const auto is_next = [&event](const Curves& curves) { return curves.rows() == 0 || event.step > curves.last().step; };
  switch (event.kind) {
    case EventKind::step:
      return add(history.steps, is_next(history.steps));
    case EventKind::validation:
      return add(history.epochs, is_next(history.epochs));
    case EventKind::epoch:
      return add(history.epochs, event.epoch > std::exchange(last_epoch, std::max(last_epoch, event.epoch)));
    case EventKind::test:  // summary.json has it
      return true;
    default:
      (event.kind == EventKind::checkpoint ? history.checkpoints : history.events).add(event_to_json(event));
      return true;
  }
}

}  // namespace

void History::members(config::Members& m) const {
  m({"per_step"}, steps);
  m({"per_epoch"}, epochs);
  m.as<std::vector<HistoryEvent>>({"events", "restarts, resumes, and events unknown to this version"}, events.newest);
  m({"events_in_all"}, events.in_all);
}

void History::list_checkpoints(config::Members& m) const {
  m.as<std::vector<HistoryEvent>>({"checkpoints"}, checkpoints.newest);
  m({"checkpoints_in_all"}, checkpoints.in_all);
}

void NewestEvents::add(config::Value event) {
  ++in_all;
  if (newest.size() == kMost) newest.erase(newest.begin());
  newest.push_back(std::move(event));
}

// Returns up to 256 bytes before the position: the times in its lines tell one file from another. Returns nothing if
// the file is shorter.
std::string HistoryReader::text_before_position() const {
  const record::InputFile file(metrics_);
  std::string text(file.size() < position_ ? 0 : std::min<std::uint64_t>(position_, 256), '\0');
  file.read(position_ - text.size(), text.data(), text.size());
  return text;
}

const History& HistoryReader::read() {
  std::error_code none;
  const bool exists = std::filesystem::exists(metrics_, none);
  if (position_ > 0 && (!exists || text_before_position() != last_text_)) *this = HistoryReader(metrics_, most_points_);
  if (!exists) return history_;
  record::EventReader events(metrics_, {}, record::LineReader::kLongest, position_);
  while (const Event* event = events.next()) {
    if (!take(history_, *event, last_epoch_)) ++history_.passed_over;
  }
  history_.passed_over += events.damaged();
  position_ = events.position();
  last_text_ = text_before_position();
  return history_;
}

History read_history(const std::filesystem::path& metrics, std::size_t most_points) {
  return HistoryReader(metrics, most_points).read();
}

namespace {

constexpr std::uint64_t kPiece = 4096;  // most bytes read of one part: about twenty lines
constexpr std::uint64_t kLine = 1024;   // longer than any step's line

struct Mean {
  double step = 0;
  double loss = 0;
  double lines = 0;
  record::Event event = {};

  void add(std::string_view line) {
    const auto kind = record::kind_in_front(line);
    if (kind && *kind != record::EventKind::step) return;
    if (!record::read_event(line, event) || event.kind != record::EventKind::step) return;
    const double value = event.number("loss");
    if (!std::isfinite(value)) return;
    step += static_cast<double>(event.step);
    loss += value;
    ++lines;
  }
};

// Returns the mean of the lines that begin between two offsets of the file.
Mean mean_between(const record::InputFile& file, std::uint64_t begin, std::uint64_t end) {
  // The byte before it shows whether a line begins there.
  const std::uint64_t from = begin == 0 ? 0 : begin - 1;
  const std::uint64_t to = std::min(file.size(), std::min(end, begin + kPiece) + kLine);
  std::string text(to - from, '\0');
  file.read(from, text.data(), text.size());
  std::size_t at = begin == 0 ? 0 : text.find('\n');
  if (begin != 0 && at != std::string::npos) ++at;
  Mean mean;
  while (at < text.size() && from + at < end) {
    const std::size_t line_end = text.find('\n', at);
    if (line_end == std::string::npos) break;
    mean.add(std::string_view(text).substr(at, line_end - at));
    at = line_end + 1;
  }
  return mean;
}

}  // namespace

std::vector<CurvePoint> loss_curve(const std::filesystem::path& metrics, std::size_t most_points) try {
  const record::InputFile file(metrics);
  std::vector<CurvePoint> points;
  for (std::size_t i = 0; i < most_points; ++i) {
    const auto place = [&](std::size_t part) {
      return static_cast<std::uint64_t>(static_cast<long double>(file.size()) * part / most_points);
    };
    if (place(i) == place(i + 1)) continue;
    const Mean mean = mean_between(file, place(i), place(i + 1));
    if (mean.lines > 0) points.push_back({.step = mean.step / mean.lines, .loss = mean.loss / mean.lines});
  }
  return points;
} catch (const Error&) {  // the file is missing, or became shorter
  return {};
}

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

void ContinuationPoint::members(config::Members& m) const {
  m({.name = "event", .choices = "restart|resume"}, event);
  m({"step"}, step);
  m({.name = "cause", .doc = "of a restart", .optional = true},
    event == "restart" ? std::optional(cause) : std::nullopt);
  m({.name = "changes", .doc = "of a resume", .optional = true, .type = "object"},
    event == "resume" ? changes : config::Value());
  m({.name = "origin", .doc = "of the start of a fork: the other run", .optional = true}, origin);
}

}  // namespace ddp::report
