#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/value.h"
#include "record/metrics/event_reader.h"

namespace ddp::report {

// Where on the way of a run something was measured.
struct Place {
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  double seconds = 0;
};

// Numbers measured along a run, one column each, for a picture: in bounded memory, however many rows there are. Once
// there are more than `most` points, each two neighbours become one, which keeps the mean and, so that no spike gets
// lost, the smallest and the largest.
class Curves {
 public:
  static constexpr std::size_t kMostColumns = 16;

  explicit Curves(std::size_t most) : most_(most) {}

  // A row: a number for each column by its name. NaN: it was measured, and is not finite. Columns beyond kMostColumns
  // are passed over.
  void add(const Place& place, std::span<const record::Event::Number> numbers);

  std::int64_t rows() const { return rows_; }
  // The last place of all; nothing was measured before the first.
  const Place& last() const { return last_; }

  // {"rows": 640, "rows_per_point": 1, "epoch": [...], "step": [...], "seconds": [...], "columns": {"loss":
  //   {"mean": [...], "min": [...], "max": [...], "not_finite": [[7, 1], ...]}, ...}}
  // A point's place is that of its last row. Where it has no finite number of a column there is null; min and max are
  // there where a point is of several rows; not_finite: [index of the point, how many of its rows].
  // Six digits, which is more than a picture shows.
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
    Place place;
    std::int64_t rows = 0;
    std::vector<Cell> cells;  // those of columns that came later may be missing

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
  Place last_;
};

// A number with six digits; null where it is not finite.
config::Value rounded(double value);

}  // namespace ddp::report
