#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "config/option/fields.h"

namespace ddp::datasets {

// Scales the numbers of a column with the same bits as scikit-learn's StandardScaler or MinMaxScaler for a column of a
// C-ordered array (sklearn/preprocessing/_data.py, sklearn/utils/extmath.py).
struct Scale {
  enum class Kind { none, standard, minmax };
  friend constexpr std::array<const char*, 3> names_of(Kind) { return {"none", "standard", "minmax"}; }
  Kind kind = Kind::none;
  double shift = 0;
  double factor = 1;

  double apply(double value) const {
    if (kind == Kind::standard) return (value - shift) / factor;
    if (kind == Kind::minmax) return value * factor + shift;
    return value;
  }
  // Undoes a standard scale; other scales do not change the value.
  double undo(double value) const { return kind == Kind::standard ? value * factor + shift : value; }

  void fields(config::Fields& f) {
    f({.name = "kind"}, kind);
    f({.name = "shift"}, shift);
    f({.name = "factor"}, factor);
  }
};

// Sums over the training values of a column, in the order of rows; missing cells are left out.
class ColumnFit {
 public:
  // The first pass, over all values.
  void add(double value) {
    ++count_;
    sum_ += value;
    if (value < least_) least_ = value;
    if (value > most_) most_ = value;
  }
  void end_first_pass() { mean_ = count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  // The second pass, over the same values; only a standard scale needs it.
  void add_deviation(double value) {
    const double deviation = value - mean_;
    deviations_ += deviation;
    squares_ += deviation * deviation;
  }

  std::int64_t count() const { return count_; }
  double mean() const { return mean_; }
  Scale scale(Scale::Kind kind) const;

 private:
  std::int64_t count_ = 0;
  double sum_ = 0;
  double mean_ = 0;
  double deviations_ = 0;
  double squares_ = 0;
  double least_ = std::numeric_limits<double>::infinity();
  double most_ = -std::numeric_limits<double>::infinity();
};

}  // namespace ddp::datasets
