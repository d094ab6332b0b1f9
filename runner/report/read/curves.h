#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/value.h"
#include "record/metrics/event_reader.h"

namespace ddp::report {

// The position of a measurement in a run.
struct CurvePosition {
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  double seconds = 0;
};

// Numbers measured during a run, one column each, for a picture, in bounded memory for any number of rows. If the
// number of points exceeds `most`, each two neighbours become one point, which keeps the mean, and the smallest and
// largest value so that no spike is lost.
class Curves {
 public:
  static constexpr std::size_t kMostColumns = 16;

  explicit Curves(std::size_t most) : most_(most) {}

  // Adds a row: a number for each column by its name. NaN: measured, but not finite. Columns beyond kMostColumns are
  // skipped.
  void add(const CurvePosition& position, std::span<const record::Event::Number> numbers);

  std::int64_t rows() const { return rows_; }
  // The position of the last row; a default CurvePosition before the first row.
  const CurvePosition& last() const { return last_; }

  // {"rows": 640, "rows_per_point": 1, "epoch": [...], "step": [...], "seconds": [...], "columns": {"loss":
  //   {"mean": [...], "min": [...], "max": [...], "not_finite": [[7, 1], ...]}, ...}}
  // A point has the position of its last row. A column without a finite number at a point has null there. A point of
  // several rows also has min and max. not_finite: [index of the point, number of its rows that are not finite].
  // Numbers have six digits, more than a picture shows.
  config::Value to_json() const;

 private:
  struct Cell {
    double mean = 0;
    double min = 0;
    double max = 0;
    std::int64_t finite = 0;
    std::int64_t not_finite = 0;

    void take(const Cell& other);
  };
  struct Point {
    CurvePosition position;
    std::int64_t rows = 0;
    std::vector<Cell> cells;  // cells of columns that were added later may be missing

    void take(const Point& other);
  };

  std::size_t column(std::string_view name);
  void halve();
  config::Value column_json(std::size_t column) const;

  const std::size_t most_;
  std::vector<std::string> names_;
  std::vector<Point> points_;
  std::int64_t rows_per_point_ = 1;
  std::int64_t rows_ = 0;
  CurvePosition last_;
};

// Returns a number with six digits; null if it is not finite.
config::Value rounded(double value);

}  // namespace ddp::report
