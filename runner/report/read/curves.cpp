#include "report/read/curves.h"

#include <algorithm>
#include <charconv>
#include <cmath>

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

config::Value Curves::column_json(std::size_t column) const {
  auto mean = config::Value::array(), min = mean, max = mean, not_finite = mean;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const Cell cell = column < points_[i].cells.size() ? points_[i].cells[column] : Cell();
    const bool any = cell.finite > 0;
    mean.push_back(any ? rounded(cell.mean) : nullptr);
    min.push_back(any ? rounded(cell.min) : nullptr);
    max.push_back(any ? rounded(cell.max) : nullptr);
    if (cell.not_finite > 0) not_finite.push_back({i, cell.not_finite});
  }
  config::Value json = {{"mean", std::move(mean)}};
  if (rows_per_point_ > 1) {
    json["min"] = std::move(min);
    json["max"] = std::move(max);
  }
  json["not_finite"] = std::move(not_finite);
  return json;
}

config::Value Curves::to_json() const {
  auto epoch = config::Value::array(), step = epoch, seconds = epoch;
  for (const Point& point : points_) {
    epoch.push_back(point.position.epoch);
    step.push_back(point.position.step);
    seconds.push_back(rounded(point.position.seconds));
  }
  config::Value columns = config::Value::object();
  for (std::size_t i = 0; i < names_.size(); ++i) columns[names_[i]] = column_json(i);
  return {{"rows", rows_},      {"rows_per_point", rows_per_point_}, {"epoch", epoch}, {"step", step},
          {"seconds", seconds}, {"columns", std::move(columns)}};
}

}  // namespace ddp::report
