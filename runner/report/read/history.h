#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "config/option/fields.h"
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

  Curves() = default;
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
  void fields(config::Fields& f);
  // Leaves a column out of fields().
  void hide(const std::string& column) { hidden_.insert(column); }

 private:
  struct Column;
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
  std::size_t most_ = 1;
  std::vector<std::string> names_;
  std::set<std::string> hidden_;
  std::vector<Point> points_;
  std::int64_t rows_per_point_ = 1;
  std::int64_t rows_ = 0;
  CurvePosition last_;
};

// Returns a number with six digits; null if it is not finite.
config::Value rounded(double value);

// The newest events of possibly many.
struct NewestEvents {
  static constexpr std::size_t kMost = 200;
  std::vector<config::Value> newest;
  std::int64_t in_all = 0;

  void add(config::Value event);
};

// The content of a run's metrics.jsonl, for a picture, in bounded memory even for a long or damaged file.
struct History {
  History() = default;
  explicit History(std::size_t most_points) : steps(most_points), epochs(most_points) {}

  Curves steps;                  // loss, lr, samples_per_second
  Curves epochs;                 // every number of an epoch's line, and of the line of a validation inside an epoch
  NewestEvents events;           // restart, resume, and events unknown to this version
  NewestEvents checkpoints;      // checkpoint
  std::int64_t passed_over = 0;  // foreign lines

  // As a report shows it, without the checkpoints.
  void fields(config::Fields& f);
  void list_checkpoints(config::Fields& f) const;
};

// The history of a metrics.jsonl that grows.
class HistoryReader {
 public:
  HistoryReader(std::filesystem::path metrics, std::size_t most_points)
      : metrics_(std::move(metrics)), most_points_(most_points), history_(most_points) {}

  std::size_t most_points() const { return most_points_; }

  // Takes the lines that are new since the last call; all lines again if the file was replaced or cut, as by a resume.
  // A missing file counts as empty: the run has done no step yet. Throws ddp::Error if the file cannot be read.
  const History& read();

 private:
  std::string text_before_position() const;

  std::filesystem::path metrics_;
  std::size_t most_points_;
  History history_;
  std::int64_t last_epoch_ = -1;
  std::uint64_t position_ = 0;  // of the first byte that is not in history_
  std::string last_text_;       // before the position
};

History read_history(const std::filesystem::path& metrics, std::size_t most_points);

struct CurvePoint {
  double step = 0;
  double loss = 0;
};

// Returns the losses of a run's steps as at most `most_points` points; each is the mean of the first steps in its part
// of the run. Reads only these: a large file takes little longer than a small one. Skips lines that are not a step or
// have no finite loss. Returns no points if the file is missing.
std::vector<CurvePoint> loss_curve(const std::filesystem::path& metrics, std::size_t most_points);

// A point at which a run continued: a restart of its ranks, a resume by a person, or its start as a fork.
struct ContinuationPoint {
  std::string event;  // "restart" or "resume"
  std::int64_t step = 0;
  std::string cause;                                // for a restart
  std::string origin;                               // for a resume that starts a fork: the other run
  config::Value changes = config::Value::object();  // for a resume: {"epochs": [3, 5]}

  void fields(config::Fields& f);
};

// Returns the continuation points of a run from metrics.jsonl; skips steps unparsed. Throws ddp::Error if the file is
// too large to search.
std::vector<ContinuationPoint> continuation_points_of(const std::filesystem::path& metrics);

// "after step 32: rank 1: killed by SIGKILL", "after step 40, epochs 5 for 3", "after step 40 of basic/a".
std::string in_words(const ContinuationPoint& point);

}  // namespace ddp::report
