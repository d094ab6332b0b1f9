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

  void fields(config::Fields& f) {
    using Numbers = std::vector<std::optional<double>>;
    f.as<Numbers>({"mean"}, mean);
    for (const auto& [name, numbers] : {std::pair{"min", &min}, {"max", &max}}) {
      f.as<Numbers>({.name = name, .doc = "if points have several rows", .optional = true}, *numbers);
    }
    f.as<std::vector<std::vector<std::int64_t>>>({"not_finite", "index of the point, number of such rows"}, not_finite);
  }
};

void Curves::fields(config::Fields& f) {
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
  f({"rows"}, rows_);
  f({"rows_per_point"}, rows_per_point_);
  f.as<std::vector<std::int64_t>>({"epoch"}, epoch);
  f.as<std::vector<std::int64_t>>({"step"}, step);
  f.as<std::vector<std::optional<double>>>({"seconds"}, seconds);
  f.as<std::map<std::string, Column>>({"columns"}, columns);
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

  void fields(config::Fields& f) {
    const auto of_type = [this](const char* key, bool (Value::*is)() const noexcept) {
      const auto found = line.find(key);
      return found != line.end() && ((*found).*is)() ? *found : Value();
    };
    f.as<std::string>({"event"}, of_type("event", &Value::is_string));
    f({"epoch"}, epoch);
    f({"step"}, step);
    f({"seconds"}, seconds);
    for (const char* key : {"path", "cause", "checkpoint", "reason"}) {
      f.as<std::string>({.name = key, .optional = true}, of_type(key, &Value::is_string));
    }
    for (const char* key : {"stall", "restart", "rank", "world_size"}) {
      f.as<double>({.name = key, .optional = true}, of_type(key, &Value::is_number));
    }
    f({.name = "changes", .optional = true, .types = {config::Type::table}}, of_type("changes", &Value::is_object));
    f({.name = "origin", .optional = true}, record::read_origin(line.value("origin", Value())));
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

void History::fields(config::Fields& f) {
  f({"per_step"}, steps);
  f({"per_epoch"}, epochs);
  f.as<std::vector<HistoryEvent>>({"events", "restarts, resumes, and events unknown to this version"}, events.newest);
  f({"events_in_all"}, events.in_all);
}

void History::list_checkpoints(config::Fields& f) const {
  f.as<std::vector<HistoryEvent>>({"checkpoints"}, checkpoints.newest);
  f({"checkpoints_in_all"}, checkpoints.in_all);
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

// The lines of the steps in a metrics.jsonl, from any place of the file.
class StepLines {
 public:
  struct Line {
    std::uint64_t end = 0;  // offset of the next line
    std::int64_t step = 0;
    double loss = 0;
  };

  explicit StepLines(const std::filesystem::path& metrics) : file_(metrics) {}

  std::uint64_t size() const { return file_.size(); }

  // Returns the first line of a step that begins at this offset or after it, but not far behind it.
  std::optional<Line> from(std::uint64_t offset) {
    // The byte before it shows whether a line begins there.
    std::uint64_t at = offset;
    if (offset > 0) {
      const auto end = end_of_line(offset - 1);
      if (!end) return {};
      at = *end;
    }
    while (const auto end = at < offset + kMost ? end_of_line(at) : std::nullopt) {
      const std::string_view line = std::string_view(block_).substr(at - begin_, *end - 1 - at);
      const auto kind = record::kind_in_front(line);
      const bool may_be_step = !kind || *kind == record::EventKind::step;
      if (may_be_step && record::read_event(line, event_) && event_.kind == record::EventKind::step) {
        return Line{.end = *end, .step = event_.step, .loss = event_.number("loss")};
      }
      at = *end;
    }
    return {};
  }

  // Returns an offset behind `from` from which the first line of a step is the first one of `step` or a later step.
  std::uint64_t search(std::int64_t step, std::uint64_t from) {
    std::uint64_t low = from, high = size();
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      const auto line = this->from(middle);
      if (line && line->step < step) {
        low = line->end;
      } else {
        high = middle;
      }
    }
    return low;
  }

  // Returns the last line of a step, if it is not far from the end.
  std::optional<Line> last() {
    std::optional<Line> found;
    for (std::uint64_t back = kBlock; !found && back <= kMost; back *= 2) {
      for (auto line = from(size() - std::min(size(), back)); line; line = from(line->end)) found = line;
    }
    return found;
  }

 private:
  static constexpr std::uint64_t kBlock = 4096;    // about twenty lines
  static constexpr std::uint64_t kMost = 1 << 20;  // bytes between two steps; no run writes more

  // Returns the offset behind the newline of the line that contains this offset, and has the rest of the line in the
  // block; nothing at the end of the file, or if the line is far too long.
  std::optional<std::uint64_t> end_of_line(std::uint64_t offset) {
    for (std::uint64_t length = kBlock; length <= 2 * kMost; length *= 2) {
      if (offset >= begin_ && offset < begin_ + block_.size()) {
        const std::size_t newline = block_.find('\n', offset - begin_);
        if (newline != std::string::npos) return begin_ + newline + 1;
        if (begin_ + block_.size() == size()) return {};
      }
      if (offset >= size()) return {};
      begin_ = offset;
      block_.resize(std::min(length, size() - offset));
      file_.read(begin_, block_.data(), block_.size());
    }
    return {};
  }

  const record::InputFile file_;
  std::uint64_t begin_ = 0;  // offset of the block
  std::string block_;
  record::Event event_;
};

constexpr int kMostSteps = 20;  // of a point

}  // namespace

std::vector<CurvePoint> loss_curve(const std::filesystem::path& metrics, std::size_t most_points) try {
  StepLines lines(metrics);
  std::vector<CurvePoint> points;
  const auto first = lines.from(0);
  if (!first) return points;
  const std::int64_t steps = std::max<std::int64_t>(0, lines.last().value_or(*first).step - first->step) + 1;
  const auto parts = std::min(steps, static_cast<std::int64_t>(most_points));
  std::uint64_t at = 0;
  for (std::int64_t part = 0; part < parts; ++part) {
    // Steps decide, and not bytes: the same losses give the same curve.
    const auto bound = [&](std::int64_t i) {
      return first->step + static_cast<std::int64_t>(static_cast<long double>(steps) * i / parts);
    };
    at = lines.search(bound(part), at);
    CurvePoint sum;
    int count = 0;
    auto line = lines.from(at);
    for (int taken = 0; line && line->step < bound(part + 1) && taken < kMostSteps; ++taken) {
      if (std::isfinite(line->loss)) {
        sum.step += static_cast<double>(line->step);
        sum.loss += line->loss;
        ++count;
      }
      line = lines.from(line->end);
    }
    if (count > 0) points.push_back({.step = sum.step / count, .loss = sum.loss / count});
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

void ContinuationPoint::fields(config::Fields& f) {
  f({.name = "event", .choices = {"restart", "resume"}}, event);
  f({"step"}, step);
  f({.name = "cause", .doc = "of a restart", .optional = true},
    event == "restart" ? std::optional(cause) : std::nullopt);
  f({.name = "changes", .doc = "of a resume", .optional = true, .types = {config::Type::table}},
    event == "resume" ? changes : config::Value());
  f({.name = "origin", .doc = "of the start of a fork: the other run", .optional = true}, origin);
}

}  // namespace ddp::report
